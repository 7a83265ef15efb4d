/* SPDX-License-Identifier: MIT */
/*
 * emit - one heap operation of the program: its stack, its event, the counters.
 *
 *	emit_alloc(level, frame, WIRE_FN_MALLOC, block, size);	// after the real malloc
 *	emit_free(level, WIRE_FN_FREE, block);			// before the real free
 *
 * level is guard_enter()'s, in phase GUARD_OURS; frame the hook's, whose caller is the innermost
 * frame of the stack.  If the recorder does not take events any more, the session ends.
 */
#ifndef SHIM_EMIT_H
#define SHIM_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/wire.h"

void emit_alloc(int level, const uintptr_t *frame, enum wire_function function, void *block,
		size_t size);

void emit_free(int level, enum wire_function function, void *block);
/* Of a block of the sample.  is_next: the thread did nothing else since it allocated one. */
void emit_sampled_free(int level, enum wire_function function, void *block, bool is_next);

/* A realloc of a block, before and after; result says what came of it. */
void emit_realloc_begin(int level, void *block);
void emit_realloc_end(int level, const uintptr_t *frame, enum wire_function function,
		      void *new_block, size_t size, enum wire_result result);

/* Before an exec. */
void emit_exec(int level);
#define EMIT_STATUS_UNKNOWN (-1)
/* The process, or a child of it that it waited for, ends or has ended.  status: as wait() has it.
 */
void emit_end(int level, int32_t pid, int status);
/* Before a fork; returns the event's number, 0 if it was lost. */
uint64_t emit_fork(int level);

#endif
