/* SPDX-License-Identifier: MIT */
#include "shim/guard.h"

#include "unwind/step.h"

#define PHASES ((uintptr_t)3)
#define MOST_FRAMES 100000

/* The section of GUARD_HOOK; the linker knows where it is. */
extern const char __start_cprof_hooks __attribute__((visibility("hidden"), weak));
extern const char __stop_cprof_hooks __attribute__((visibility("hidden"), weak));

enum inside {
	INSIDE_NOTHING, /* the hook is not on the stack */
	INSIDE_CALL,
	INSIDE_SIGNAL,
};

static bool in_hook(uint64_t pc)
{
	return pc >= (uintptr_t)&__start_cprof_hooks && pc < (uintptr_t)&__stop_cprof_hooks;
}

/* Without CFI (musl's libc) the frame pointer leads to the hook's caller, past the hook itself. */
static bool is_guess(unwind_rule rule)
{
	return unwind_rule_kind(rule) == UNWIND_RULE_CHAIN;
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
		unwind_rule rule = walk_rule(walk, &at);
		bool was_in_hook = in_hook(at.pc);

		end = unwind_step(&at, rule, stack_read, &stack);
		if (!end && unwind_rule_kind(rule) == UNWIND_RULE_SIGNAL) {
			stack_continue(&stack, at.sp);
			inside = INSIDE_SIGNAL;
		}
		if (!end && at.sp == hook_sp && (was_in_hook || is_guess(rule)))
			return inside;
	}
	/* Cut off: the hook may be further out, unless it would have to be further in. */
	return !unwind_end_is_root(end) && at.sp < hook_sp ? inside : INSIDE_NOTHING;
}

/* At a level where nothing of the shim is running. */
static struct track *claim(int level, const uintptr_t *frame)
{
	uintptr_t hook = self.hook[level];
	struct track *track;

	guard_phase(level, frame, GUARD_OURS);
	track = track_get((unsigned int)level);
	self.hook[level] = hook;
	return track;
}

/*
 * Something to walk with: the hook's own track, which it may not have yet, or, if it is just
 * getting one, that of the next level.
 */
static struct track *find_track(int level, const uintptr_t *frame)
{
	if (self.track[level])
		return self.track[level];
	if (self.hook[level] & GUARD_REAL)
		return claim(level, frame);
	return level + 1 < TRACK_LEVELS ? claim(level + 1, frame) : NULL;
}

static enum inside inside_of(int level, const uintptr_t *frame)
{
	uintptr_t hook_sp = self.hook[level] & ~PHASES;
	struct track *track = find_track(level, frame);

	if (track)
		return look_for(&track->walk, frame, hook_sp);
	return guard_caller_sp(frame) < hook_sp ? INSIDE_SIGNAL : INSIDE_NOTHING;
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

static int enter(const uintptr_t *frame, enum guard_phase phase)
{
	int level;

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

int guard_enter_slow(const uintptr_t *frame, enum guard_phase phase)
{
	int level = 0;

	if (!session_live() && !session_start())
		return GUARD_OUT;
	if (self.hook[0])
		level = enter(frame, phase);
	else
		guard_phase(level, frame, phase);
	return level == GUARD_OUT || session_exact() ? level : guard_count(level);
}
