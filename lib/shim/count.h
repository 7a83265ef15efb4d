/* SPDX-License-Identifier: MIT */
/*
 * count - what is done with an operation where not each is an event: it is counted, and an event
 * only if its block is of the sample.
 *
 *	if (level < 0)
 *		return count_alloc(level, frame, WIRE_FN_MALLOC, block, size);
 *
 * The counterparts of emit.h for a negative level of guard_enter()'s, GUARD_OUT included, and with
 * that of guard_leave(), too.  In WIRE_MODE_COUNTS no block is of the sample.
 *
 * That a block is of the sample is decided when it is allocated, and remembered by its address:
 * allocators know their blocks by what surrounds them (tcmalloc marks the span, jemalloc gives a
 * sampled block pages of its own); we may not touch what is around, and leave blocks as they are.
 */
#ifndef SHIM_COUNT_H
#define SHIM_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "shim/wire.h"

/* Returns the block. */
void *count_alloc(int level, const uintptr_t *frame, enum wire_function function, void *block,
		  size_t size);
void count_free(int level, enum wire_function function, void *block);

/* Of a block that is not NULL; between them it is the allocator's.  Returns the new one. */
void count_realloc_begin(int level, const uintptr_t *frame, void *block);
void *count_realloc_end(int level, const uintptr_t *frame, enum wire_function function, void *block,
			void *new_block, size_t size);

/* What a thread without a track did: an allocation, reallocation or free. */
void count_apart(_Atomic uint64_t *operations, uint64_t bytes);

#endif
