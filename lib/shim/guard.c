/* SPDX-License-Identifier: MIT */
#include "shim/guard.h"

#include "unwind/step.h"

#define PHASES ((uintptr_t)3)
#define MOST_FRAMES 100000

/* Where the shim itself is. */
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));

enum inside {
	INSIDE_NOTHING, /* the hook is not on the stack */
	INSIDE_CALL,
	INSIDE_SIGNAL,
};

static bool in_shim(uint64_t pc)
{
	return pc >= (uintptr_t)&__ehdr_start && pc < (uintptr_t)&_end;
}

/* Without CFI all the way: whether it can be, by the order on one stack. */
static enum inside guess(const uintptr_t *frame, uintptr_t hook_sp)
{
	return guard_caller_sp(frame) < hook_sp ? INSIDE_CALL : INSIDE_NOTHING;
}

/* Goes up from the hook at `frame`, looking for the one that was called from hook_sp. */
static enum inside look_for(struct walk *walk, const uintptr_t *frame, uintptr_t hook_sp)
{
	struct unwind_frame at = { .pc = frame[1], .sp = guard_caller_sp(frame), .fp = frame[0] };
	struct stack stack = walk->stack;
	enum inside inside = INSIDE_CALL;
	enum unwind_end end = UNWIND_MORE;

	stack_enter(&stack, at.sp);
	for (int i = 0; !end && i < MOST_FRAMES; i++) {
		unwind_rule rule = walk_rule(walk, unwind_lookup_pc(&at));
		bool was_in_shim = in_shim(at.pc);

		if (unwind_rule_kind(rule) == UNWIND_RULE_SIGNAL)
			inside = INSIDE_SIGNAL;
		end = unwind_step(&at, rule, stack_read, &stack);
		if (!end && was_in_shim && at.sp == hook_sp)
			return inside;
	}
	return unwind_end_is_root(end) ? INSIDE_NOTHING : guess(frame, hook_sp);
}

static enum inside inside_of(int level, const uintptr_t *frame)
{
	uintptr_t hook_sp = self.hook[level] & ~PHASES;

	return self.track[level] ? look_for(&self.track[level]->walk, frame, hook_sp)
				 : guess(frame, hook_sp);
}

/* A handler left the hook by a jump. */
static void abandon(int level)
{
	if (self.track[level])
		ring_recover(&self.track[level]->ring);
	guard_leave(level);
}

static int innermost(void)
{
	int level = TRACK_LEVELS - 1;

	while (level >= 0 && !self.hook[level])
		level--;
	return level;
}

static void count_lost(void)
{
	if (self.track[TRACK_LEVELS - 1])
		ring_count(&self.track[TRACK_LEVELS - 1]->ring.shared->lost, 1);
}

int guard_enter_slow(const uintptr_t *frame, enum guard_phase phase)
{
	int level;

	if (!session_live() && !session_start())
		return GUARD_OUT;
	while ((level = innermost()) >= 0) {
		enum inside inside = inside_of(level, frame);

		if (inside == INSIDE_CALL && self.hook[level] & GUARD_REAL)
			return GUARD_OUT;
		if (inside != INSIDE_NOTHING)
			break;
		abandon(level);
	}
	if (++level == TRACK_LEVELS) {
		count_lost();
		return GUARD_OUT;
	}
	guard_phase(level, frame, phase);
	return level;
}
