/* SPDX-License-Identifier: MIT */
#include "shim/exits.h"

#include <stdatomic.h>

/* Whether it is known where the frame pointer, if it was saved, and the return address are: that is
 * above it, where calls do not push it. */
static bool has_usual_frame(unwind_rule rule)
{
	uint32_t slot = unwind_rule_slot(rule);

	if (slot >= UNWIND_FP_AT_FP)
		return false;
	return ARCH_RETURN_IS_PUSHED ||
	       (unwind_rule_returns(rule, UNWIND_RETURN_BY_FP) && slot >= 2);
}

static uint32_t distance_of(unwind_rule rule)
{
	int64_t words = unwind_rule_distance(rule);

	if (words <= 0 || !has_usual_frame(rule))
		return (uint32_t)EXIT_ELSE;
	if (unwind_rule_kind(rule) == UNWIND_RULE_FP)
		return (uint32_t)EXIT_BY_FP;
	if (unwind_rule_kind(rule) == UNWIND_RULE_SP && unwind_rule_slot(rule) <= words)
		return ARCH_WORD * (uint32_t)words;
	return (uint32_t)EXIT_ELSE;
}

/* No address is found in a place that is not its own; nor is 0. */
static void set_free(struct exits *exits, struct exit *exit)
{
	exit->pc = exit == exits->entry ? RETURN_STEP : 0;
}

/* Few pages for few; those that are not found any more come again. */
static void make_room(struct exits *exits)
{
	if (++exits->nr <= exits->mask / 2 || exits->mask == EXITS - 1)
		return;
	exits->mask = exits->mask * 2 + 1;
	exits->nr = 0;
}

void exits_init(struct exits *exits)
{
	if (exits->mask)
		return;
	exits->mask = EXITS_FIRST - 1;
	set_free(exits, exits->entry);
}

void exits_add(struct exits *exits, uint64_t pc, unwind_rule rule)
{
	make_room(exits);

	struct exit *exit = (struct exit *)exits_at(exits, exits->mask, pc);

	set_free(exits, exit);
	atomic_signal_fence(memory_order_seq_cst);
	exit->way = (union exit_way){ .rule = rule, .distance = distance_of(rule) };
	atomic_signal_fence(memory_order_seq_cst);
	exit->pc = pc;
}

void exits_clear(struct exits *exits)
{
	for (uint32_t i = 0; i <= exits->mask; i++)
		set_free(exits, &exits->entry[i]);
}
