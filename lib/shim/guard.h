/* SPDX-License-Identifier: MIT */
/*
 * guard - which calls count: the outermost ones, and those of signal handlers.
 *
 *	int level = guard_enter(frame, GUARD_REAL);
 *	block = real.malloc(size);			// whatever it calls in turn is not counted
 *	if (level != GUARD_OUT) {
 *		guard_phase(level, frame, GUARD_OURS);
 *		...;					// with track_get(level)
 *		guard_leave(level);
 *	}
 *
 * An allocator may reach another hook from inside (calloc that calls malloc): that is not a call of
 * the program's.  A signal handler may interrupt a hook and allocate: that is one, and it gets a
 * level of its own, since the shim is in the middle of something.  And it may jump out of there and
 * never return: then the hook that it left is over.
 *
 * Which of the three it is, the stack says: each level notes where its hook was called from, and
 * that frame, with the hook's own below it, is still on the stack or it is not, and a signal frame
 * is between or it is not.
 */
#ifndef SHIM_GUARD_H
#define SHIM_GUARD_H

#include <stdint.h>

#include "arch/arch.h"
#include "shim/session.h"
#include "shim/track.h"

#define GUARD_OUT (-1) /* only forward this call */

/* In the modes that do not follow every block a level is given as one below GUARD_OUT: what is to
 * be done then is in count.h. */
static inline int guard_count(int level)
{
	return GUARD_OUT - 1 - level;
}

static inline int guard_level(int level)
{
	return level < GUARD_OUT ? GUARD_OUT - 1 - level : level;
}

/* Attribute of every function that calls guard_enter(): hooks are told from other code by it. */
#define GUARD_HOOK __attribute__((section("cprof_hooks")))

/* In the low bits of a note; stack pointers have none. */
enum guard_phase {
	GUARD_REAL = 1, /* in the function that we stand in front of */
	GUARD_OURS = 2, /* in the shim */
};

/* frame: the hook's FRAME, see hook.h. */
static inline uintptr_t guard_caller_sp(const uintptr_t *frame)
{
	return ARCH_RETURN_IS_PUSHED ? (uintptr_t)(frame + 2) : frame[2];
}

/* All but the first level of a session that follows every block. */
int guard_enter_slow(const uintptr_t *frame, enum guard_phase phase);

/* Returns the level, GUARD_OUT, or guard_count() of the level. */
static inline int guard_enter(const uintptr_t *frame, enum guard_phase phase)
{
	if (__builtin_expect(!session_exact() || self.hook[0], 0))
		return guard_enter_slow(frame, phase);
	*(volatile uintptr_t *)&self.hook[0] = guard_caller_sp(frame) | phase;
	return 0;
}

static inline void guard_phase(int level, const uintptr_t *frame, enum guard_phase phase)
{
	*(volatile uintptr_t *)&self.hook[level] = guard_caller_sp(frame) | phase;
}

static inline void guard_leave(int level)
{
	__asm__ volatile("" ::: "memory");
	*(volatile uintptr_t *)&self.hook[level] = 0;
}

#endif
