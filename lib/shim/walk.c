/* SPDX-License-Identifier: MIT */
#include "shim/walk.h"

#include <string.h>

#include "unwind/step.h"

#define HALF (WALK_FRAMES / 2)
#define MOST_FRAMES (1u << 20)

void walk_init(struct walk *walk, struct modules *modules, struct trie *trie, uint64_t top)
{
	walk->modules = modules;
	walk->trie = trie;
	walk->nr = 0;
	stack_init(&walk->stack, top);
}

/* --- rules ------------------------------------------------------------------------------------*/

static __attribute__((noinline)) unwind_rule rule_from_cfi(struct walk *walk, uint64_t pc)
{
	struct unwind_cache cache = { walk->cache, WALK_CACHE_BITS };
	struct unwind_row row;

	modules_row(walk->modules, pc, &row);
	row.rule = unwind_rule_or_chain(row.rule);
	unwind_cache_add(&cache, pc, &row);
	return row.rule;
}

static inline unwind_rule rule_at(struct walk *walk, uint64_t pc)
{
	struct unwind_cache cache = { walk->cache, WALK_CACHE_BITS };
	unwind_rule rule;

	return unwind_cache_find(&cache, pc, &rule) ? rule : rule_from_cfi(walk, pc);
}

unwind_rule walk_rule(struct walk *walk, uint64_t pc)
{
	return rule_at(walk, pc);
}

static void forget_if_changed(struct walk *walk)
{
	struct unwind_cache cache = { walk->cache, WALK_CACHE_BITS };
	uint32_t generation =
		atomic_load_explicit(&walk->modules->generation, memory_order_acquire);

	if (walk->generation == generation)
		return;
	walk->nr = 0;
	unwind_cache_clear(&cache);
	walk->generation = generation;
}

/* --- the last walk ----------------------------------------------------------------------------*/

/* Of CFI whose slot is no word of the frame; what is then read cannot be checked by the slot. */
static inline bool is_odd_slot(const struct walk_frame *frame, uint32_t slot)
{
	return slot == UNWIND_FP_AT_FP || frame[-1].sp - ARCH_WORD * (uint64_t)slot < frame->sp;
}

/* The way from this frame to its caller can be checked if all it reads is known. */
static inline void set_way_out(struct walk_frame *frame, bool caller_needs_fp, unwind_rule rule)
{
	uint32_t slot = unwind_rule_fp(rule);
	uint16_t flags = 0;

	switch (unwind_rule_kind(rule)) {
	case UNWIND_RULE_SP:
	case UNWIND_RULE_PLT:
		flags = caller_needs_fp && slot == UNWIND_FP_SAME ? WALK_NEEDS_FP : 0;
		break;
	case UNWIND_RULE_FP:
		flags = WALK_NEEDS_FP;
		break;
	case UNWIND_RULE_CHAIN:
		flags = WALK_NEEDS_FP;
		slot = 2;
		break;
	default:
		flags = WALK_BARRIER;
	}
	if (!caller_needs_fp || slot == UNWIND_FP_LOST)
		slot = UNWIND_FP_SAME;
	if (slot != UNWIND_FP_SAME && is_odd_slot(frame, slot))
		flags |= WALK_BARRIER;
	frame->fp_slot = (uint16_t)slot;
	frame->flags = (frame->flags & WALK_EXACT) | flags;
}

/* The root has no caller; whether that stays so must not depend on what is in memory. */
static void set_no_way_out(struct walk_frame *frame, unwind_rule rule)
{
	set_way_out(frame, false, rule);
	frame->flags &= (uint16_t)~WALK_BARRIER;
	if (unwind_rule_kind(rule) != UNWIND_RULE_ROOT)
		frame->flags |= WALK_BARRIER;
}

static inline bool holds(struct walk *walk, uint64_t address, uint64_t value)
{
	uint64_t word;

	return stack_read(&walk->stack, address, &word) && word == value;
}

static inline bool way_out_unchanged(struct walk *walk, const struct walk_frame *frame)
{
	const struct walk_frame *caller = frame - 1;

	return !(frame->flags & WALK_BARRIER) &&
	       holds(walk, caller->sp + ARCH_RETURN_AT_CFA, caller->pc) &&
	       (!frame->fp_slot ||
		holds(walk, caller->sp - ARCH_WORD * (uint64_t)frame->fp_slot, caller->fp));
}

/* How many of the first nr frames, from the root on, would be found again. */
static uint32_t unchanged(struct walk *walk, uint32_t nr)
{
	uint32_t i = 0;

	if (nr && !(walk->frame[0].flags & WALK_BARRIER))
		for (i = 1; i < nr && way_out_unchanged(walk, &walk->frame[i]); i++)
			;
	return i;
}

static inline bool matches(const struct walk_frame *old, const struct unwind_frame *frame)
{
	return old->sp == frame->sp && old->pc == frame->pc &&
	       !(old->flags & WALK_EXACT) == !frame->exact &&
	       (!(old->flags & WALK_NEEDS_FP) || (old->fp == frame->fp && !frame->fp_lost));
}

/* --- nodes ------------------------------------------------------------------------------------*/

static uint32_t mark(struct walk *walk, uint32_t parent, uint64_t address, uint32_t module)
{
	uint32_t id = trie_find(walk->trie, parent, address);

	return id ? id : trie_add(walk->trie, parent, address, module);
}

static __attribute__((noinline)) uint32_t new_node(struct walk *walk, uint32_t parent,
						   uint64_t address)
{
	bool exact = address & WIRE_EXACT_PC;
	const struct module *m =
		modules_find(walk->modules, (address & ~WIRE_EXACT_PC) - (exact ? 0 : 1));

	return trie_add(walk->trie, parent, address, m ? m->id : WIRE_MODULE_NONE);
}

static inline uint32_t node_of(struct walk *walk, uint32_t parent, const struct walk_frame *frame)
{
	uint64_t address = frame->pc | (frame->flags & WALK_EXACT ? WIRE_EXACT_PC : 0);
	uint32_t node = trie_find(walk->trie, parent, address);

	return __builtin_expect(node != 0, 1) ? node : new_node(walk, parent, address);
}

/* The parent of a root that was reached, or did not want to be. */
static uint32_t root_node(struct walk *walk, enum unwind_end end)
{
	return unwind_end_is_root(end) ? 0 : mark(walk, 0, end, WIRE_MODULE_STOP);
}

/* --- walking ----------------------------------------------------------------------------------*/

/* What a walk has found.  New frames are stored from the end of the array backwards. */
struct way {
	uint32_t first;	     /* of the new frames */
	uint32_t old;	     /* frames of the last walk that go on being right */
	enum unwind_end end; /* UNWIND_MORE: those were met */
};

static inline void store(struct walk *walk, uint32_t i, const struct unwind_frame *at,
			 unwind_rule rule)
{
	struct walk_frame *frame = &walk->frame[i];

	frame->sp = at->sp;
	frame->pc = at->pc;
	frame->fp = at->fp;
	frame->node = rule; /* until the frame has its place */
	frame->flags = at->exact ? WALK_EXACT : 0;
}

static __attribute__((noinline)) enum unwind_end step_rare(struct walk *walk, unwind_rule rule,
							   struct unwind_frame *at)
{
	enum unwind_end end = unwind_step(at, rule, stack_read, &walk->stack);

	if (!end && unwind_rule_kind(rule) == UNWIND_RULE_SIGNAL)
		stack_continue(&walk->stack, at->sp);
	return end;
}

/* Most rules are of two kinds; and a frame whose address nobody takes stays in registers. */
static inline __attribute__((always_inline)) enum unwind_end
step(struct walk *walk, unwind_rule rule, struct unwind_frame *at)
{
	if (__builtin_expect(unwind_rule_kind(rule) == UNWIND_RULE_SP, 1))
		return unwind_step(at, rule, stack_read, &walk->stack);
	if (unwind_rule_kind(rule) == UNWIND_RULE_FP)
		return unwind_step(at, rule, stack_read, &walk->stack);

	struct unwind_frame copy = *at;
	enum unwind_end end = step_rare(walk, rule, &copy);

	*at = copy;
	return end;
}

/* Goes up until the end, a frame of the last walk that is still right, or no more room. */
static inline struct way go(struct walk *walk, struct unwind_frame at)
{
	struct way way = { WALK_FRAMES, walk->nr, UNWIND_MORE };
	bool checked = false;

	walk->nr = 0;
	atomic_signal_fence(memory_order_acq_rel);
	while (way.first != way.old) {
		while (way.old && walk->frame[way.old - 1].sp < at.sp)
			way.old--;
		if (way.old && matches(&walk->frame[way.old - 1], &at)) {
			uint32_t nr = checked ? way.old : unchanged(walk, way.old);

			if (nr == way.old)
				break;
			checked = true;
			way.old = nr;
		}
		unwind_rule rule = rule_at(walk, unwind_lookup_pc(&at));

		store(walk, --way.first, &at, rule);
		way.end = step(walk, rule, &at);
		if (way.end) {
			way.old = 0;
			break;
		}
	}
	return way;
}

/* Puts the new frames behind those that were met and gives all of them nodes. */
static uint32_t settle(struct walk *walk, struct way way)
{
	uint32_t nr_new = WALK_FRAMES - way.first, nr = way.old + nr_new;
	uint32_t node = way.old ? walk->frame[way.old - 1].node : root_node(walk, way.end);

	memmove(&walk->frame[way.old], &walk->frame[way.first], nr_new * sizeof(walk->frame[0]));
	for (uint32_t i = way.old; i < nr; i++) {
		struct walk_frame *frame = &walk->frame[i];
		unwind_rule rule = frame->node;

		if (i)
			set_way_out(frame, frame[-1].flags & WALK_NEEDS_FP, rule);
		else
			set_no_way_out(frame, rule);
		node = frame->node = node_of(walk, node, frame);
		if (!node)
			return WIRE_STACK_OTHER;
	}
	atomic_signal_fence(memory_order_release);
	walk->nr = nr;
	return node;
}

/*
 * More frames than room: half of the array keeps the innermost ones, the other half is used in
 * turns and has the outermost ones in the end.
 */
static uint32_t place_of(uint32_t n)
{
	return n < HALF ? WALK_FRAMES - 1 - n : n % HALF;
}

static __attribute__((noinline)) uint32_t walk_deep(struct walk *walk, struct unwind_frame *at)
{
	enum unwind_end end = UNWIND_MORE;
	uint32_t nr = 0, node;

	while (!end && nr < MOST_FRAMES) {
		unwind_rule rule = rule_at(walk, unwind_lookup_pc(at));

		store(walk, place_of(nr++), at, rule);
		end = step_rare(walk, rule, at);
	}

	node = root_node(walk, end ? end : UNWIND_END_TOO_DEEP);
	for (uint32_t n = nr; n-- > 0;) {
		if (n == HALF - 1 && nr > WALK_FRAMES)
			node = mark(walk, node, nr - WALK_FRAMES, WIRE_MODULE_ELIDED);
		if (n < HALF || nr - n <= HALF)
			node = node_of(walk, node, &walk->frame[place_of(n)]);
	}
	return node;
}

uint32_t walk_stack(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct unwind_frame start = { .pc = pc, .sp = sp, .fp = fp };

	forget_if_changed(walk);
	stack_enter(&walk->stack, sp);

	struct way way = go(walk, start);

	return way.first > way.old ? settle(walk, way) : walk_deep(walk, &start);
}
