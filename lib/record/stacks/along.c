/* SPDX-License-Identifier: MIT */
#include "record/stacks/along.h"

static bool is_at(struct walk *walk, const struct walked *walked)
{
	const struct unwind_frame *frame = &walk->frame;
	const struct mapping *mapping = walk_mapping(walk, unwind_lookup_pc(frame));

	return walked->frame.pc == frame->pc && walked->sp == frame->sp &&
	       walked->fp == frame->fp && walked->fp_lost == frame->fp_lost &&
	       walked->sp_lost == frame->sp_lost && mapping &&
	       mapping->module == walked->frame.module;
}

/* Whether the frame, a caller, is where it was found then.  Of one that was found by saved words (of a
 * frame that is aligned) those would have to be read, too: such a step is taken by the rule. */
static bool is_there(struct walk *walk, const struct walked *walked)
{
	const struct mapping *mapping;
	uint64_t word;

	if (walked->sp_read || !walked->return_at ||
	    !words_read(&walk->words, walked->return_at, &word) ||
	    unwind_code(word) != walked->frame.pc)
		return false;
	if (walked->fp_at &&
	    (!words_read(&walk->words, walked->fp_at, &word) || word != walked->fp))
		return false;
	mapping = walk_mapping(walk, walked->frame.pc - 1);
	return mapping && mapping->module == walked->frame.module;
}

static enum stack_origin origin_of(const struct walk *walk, const struct walked *walked)
{
	if (walk->words.goes_beyond)
		return STACK_BY_MEMORY;
	return walked->frame.origin == STACK_BY_FP ? STACK_BY_FP : STACK_BY_CFI;
}

static void add(struct walk *walk, const struct walked *walked)
{
	vec_push(walk->walked, *walked);
	vec_last(walk->walked)->frame.origin = walk->origin;
	walk->stack->origins |= 1U << walk->origin;
}

static void go_to(struct walk *walk, const struct walked *walked)
{
	walk->frame = (struct unwind_frame){ .pc = walked->frame.pc,
					     .sp = walked->sp,
					     .fp = walked->fp,
					     .pc_at = walked->return_at,
					     .fp_at = walked->fp_at,
					     .fp_lost = walked->fp_lost,
					     .sp_lost = walked->sp_lost };
	walk->sp_read = walked->sp_read;
	walk->origin = origin_of(walk, walked);
}

/* frames[at] has the return address that leads to the frame of the walk. */
static void go_along(struct walk *walk, const struct walked *frames, size_t at)
{
	size_t left = at;

	if (!is_at(walk, &frames[at - 1]))
		return;
	while (--left && walk->walked->nr < WALK_STEPS_MAX && is_there(walk, &frames[left - 1])) {
		add(walk, &frames[left]);
		walk->origin = origin_of(walk, &frames[left - 1]);
	}
	if (left + 1 < at)
		go_to(walk, &frames[left]);
}

void walk_along(struct walk *walk)
{
	for (size_t i = 0; walk->frame.pc_at && i < REMEMBERED_STACKS; i++) {
		const struct remembered_stack *stack = &walk->thread->stacks[i];
		size_t at = remembered_find(stack, walk->frame.pc_at);

		if (at)
			go_along(walk, stack->frames.at, at);
	}
}
