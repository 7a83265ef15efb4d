/* SPDX-License-Identifier: MIT */
/*
 * last_walk - the frames of a walk: what is kept of each, and which of them the next one would find
 * again.
 *
 *	keep_more(walk, i, found);		// root first
 *	...
 *	if (matches(walk, i, &at))		// the next walk is at a frame that looks like that one
 *		nr = unchanged(walk, i + 1);	// if nr == i + 1, all further out is as it was
 *
 * Of most frames little is kept: those that lead to their caller by sp alone, on top of one that does
 * not need fp.  Only for walk.c.
 */
#ifndef SHIM_LAST_WALK_H
#define SHIM_LAST_WALK_H

#include "shim/walk.h"

/* Frames before this one can be found again by checks, but not what is further in. */
static inline void set_barrier(struct walk *walk, uint32_t i)
{
	if (i < walk->nr_checkable)
		walk->nr_checkable = i;
}

/* Where the frame's pc is on the stack. */
static inline uint64_t return_at(const struct walk *walk, size_t i)
{
	return ARCH_RETURN_IS_PUSHED ? walk->sp[i] + ARCH_RETURN_AT_CFA : walk->return_at[i];
}

/* Whether the way from the frame to its caller begins with fp. */
static inline bool uses_fp(enum unwind_rule_kind kind, uint32_t flags)
{
	return kind == UNWIND_RULE_FP || kind == UNWIND_RULE_CHAIN ||
	       (!ARCH_RETURN_IS_PUSHED && flags & WALK_SP_LOST);
}

/* Whether that way can be checked: it goes by what is kept here. */
static inline bool is_checkable(unwind_rule rule)
{
	enum unwind_rule_kind kind = unwind_rule_kind(rule);

	if (!ARCH_RETURN_IS_PUSHED && unwind_rule_fp(rule) == UNWIND_FP_AT_FP)
		return false;
	return kind == UNWIND_RULE_SP || kind == UNWIND_RULE_FP || kind == UNWIND_RULE_CHAIN ||
	       kind == UNWIND_RULE_PLT;
}

/* The caller's fp, which it needs, is to be found again where frame i saved it. */
static inline void check_fp(struct walk *walk, uint32_t i)
{
	struct walk_state *state = &walk->state[i];
	bool is_chain = unwind_rule_kind(walk->rule[i]) == UNWIND_RULE_CHAIN;
	uint32_t slot = is_chain ? 2 : unwind_rule_fp(walk->rule[i]);
	uint64_t depth = is_chain ? 2 : unwind_rule_fp_depth(walk->rule[i]);
	uint64_t address = walk->sp[i - 1] - ARCH_WORD * depth;

	if (slot == UNWIND_FP_SAME || slot == UNWIND_FP_LOST)
		state->flags |= WALK_NEEDS_FP;
	else if (slot == UNWIND_FP_AT_FP || address < walk->sp[i] ||
		 !stack_is_own(&walk->stack, address))
		set_barrier(walk, i);
	else
		walk->saved[state->nr_fps++] = (struct walk_fp){ address, walk->fp[i - 1] };
}

/* The way from frame i to its caller. */
static inline void set_way_out(struct walk *walk, uint32_t i)
{
	struct walk_state *state = &walk->state[i];

	state->nr_fps = state[-1].nr_fps;
	if (uses_fp(unwind_rule_kind(walk->rule[i]), state->flags))
		state->flags |= WALK_NEEDS_FP;
	if (!is_checkable(walk->rule[i]) || !stack_is_own(&walk->stack, return_at(walk, i - 1)))
		set_barrier(walk, i);
	else if (state[-1].flags & WALK_NEEDS_FP)
		check_fp(walk, i);
}

/* The root has no caller; whether that stays so must not depend on what is in memory. */
static inline void set_no_way_out(struct walk *walk)
{
	walk->state[0].nr_fps = 0;
	if (unwind_rule_kind(walk->rule[0]) != UNWIND_RULE_ROOT)
		set_barrier(walk, 0);
}

static inline uint64_t word_at(uint64_t address)
{
	return *(const volatile uint64_t *)address;
}

/* 0: the frame has its pc where it was.  Numbers, so that four are combined without a branch. */
static inline uint64_t change(const struct walk *walk, size_t i)
{
	return unwind_code(word_at(return_at(walk, i))) ^ walk->pc[i];
}

static inline bool four_are_there(const struct walk *walk, size_t i)
{
	return !(change(walk, i) | change(walk, i + 1) | change(walk, i + 2) | change(walk, i + 3));
}

/* How many of the first nr frames have their pc where it was.  The last four are looked at together,
 * some of them again: how many are left over nobody predicts. */
static inline __attribute__((always_inline)) size_t nr_there(const struct walk *walk, size_t nr)
{
	size_t i = 0;

	while (i + 4 <= nr && four_are_there(walk, i))
		i += 4;
	if (nr >= 4 && i + 4 > nr && four_are_there(walk, nr - 4))
		return nr;
	while (i < nr && !change(walk, i))
		i++;
	return i;
}

static inline uint32_t nr_fps_there(const struct walk *walk, uint32_t nr)
{
	uint32_t i = 0;

	while (i < nr && word_at(walk->saved[i].address) == walk->saved[i].value)
		i++;
	return i;
}

/* How many of the first nr frames, from the root on, would be found again. */
static inline __attribute__((always_inline)) uint32_t unchanged(struct walk *walk, uint32_t nr)
{
	if (nr > walk->nr_checkable)
		nr = walk->nr_checkable;
	if (!nr)
		return 0;

	/* The innermost one's pc has been seen already. */
	nr = (uint32_t)nr_there(walk, nr - 1) + 1;

	uint32_t nr_fps = nr_fps_there(walk, walk->state[nr - 1].nr_fps);

	while (walk->state[nr - 1].nr_fps > nr_fps)
		nr--;
	return nr;
}

static inline uint32_t flags_of(const struct unwind_frame *at)
{
	return !ARCH_RETURN_IS_PUSHED && at->sp_lost ? WALK_SP_LOST : 0;
}

static inline uint16_t *place_of_sp(struct walk *walk, uint64_t sp)
{
	return &walk->place[sp / 16 % (1 << WALK_PLACE_BITS)];
}

/* Whether it is this frame of the last walk, and leads to the same callers. */
static inline bool matches(const struct walk *walk, uint32_t i, const struct unwind_frame *at)
{
	uint32_t flags = walk->state[i].flags;

	return walk->sp[i] == at->sp && walk->pc[i] == at->pc && !at->exact &&
	       (ARCH_RETURN_IS_PUSHED || (flags & WALK_SP_LOST) == flags_of(at)) &&
	       (!(flags & WALK_NEEDS_FP) || (walk->fp[i] == at->fp && !at->fp_lost));
}

/* Of frame i more has to be kept, or of its caller. */
static __attribute__((noinline)) void keep_more(struct walk *walk, uint32_t i,
						const struct walk_found *found)
{
	walk->state[i].flags = found->way.distance % ARCH_WORD;
	walk->fp[i] = found->fp;
	walk->rule[i] = found->way.rule;
	if (i)
		set_way_out(walk, i);
	else
		set_no_way_out(walk);
}

/* Of one that climb() left by fp, and that is not the root.  What it read is on the own stack. */
static inline void keep_by_fp(struct walk *walk, uint32_t i, const struct walk_found *found)
{
	struct walk_state *state = &walk->state[i];
	uint64_t slot = unwind_rule_slot(found->way.rule);
	uint32_t nr_fps = state[-1].nr_fps;

	if (state[-1].flags & WALK_NEEDS_FP && slot != UNWIND_FP_SAME)
		walk->saved[nr_fps++] =
			(struct walk_fp){ walk->sp[i - 1] - ARCH_WORD * slot, walk->fp[i - 1] };
	*state = (struct walk_state){ nr_fps, WALK_NEEDS_FP };
	walk->fp[i] = found->fp;
	walk->rule[i] = found->way.rule;
}

/* Most frames lead to their caller by sp alone: from this distance on no more has to be kept of one on
 * top of this caller, ... */
static inline uint32_t least_plain(const struct walk_state *caller)
{
	return caller->flags & WALK_NEEDS_FP ? UINT32_MAX : ARCH_WORD;
}

/* ... and this is its state. */
static inline struct walk_state plain_state(const struct walk_state *caller)
{
	return (struct walk_state){ caller->nr_fps, 0 };
}

#endif
