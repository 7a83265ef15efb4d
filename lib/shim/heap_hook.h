/* SPDX-License-Identifier: MIT */
/*
 * heap_hook - what a hook does after it allocated.
 *
 *	int level = guard_enter(FRAME, GUARD_REAL);
 *
 *	return allocated(level, FRAME, WIRE_FN_MALLOC, real.malloc(size), size);
 */
#ifndef SHIM_HEAP_HOOK_H
#define SHIM_HEAP_HOOK_H

#include <stddef.h>
#include <stdint.h>

#include "shim/count.h"
#include "shim/emit.h"
#include "shim/guard.h"
#include "shim/wire.h"

/* After a call that walks from the hook's frame.  A hook that ended with the call would jump there, its
 * frame given up, and what is called writes over that. */
static inline void frame_was_needed(void)
{
	__asm__ volatile("");
}

/* After the real function. */
static inline void *allocated(int level, const uintptr_t *frame, enum wire_function function,
			      void *block, size_t size)
{
	if (__builtin_expect(level < 0, 0)) {
		block = count_alloc(level, frame, function, block, size);
		frame_was_needed();
		return block;
	}
	if (block) {
		guard_phase(level, frame, GUARD_OURS);
		emit_alloc(level, frame, function, block, size);
	}
	guard_leave(level);
	return block;
}

#endif
