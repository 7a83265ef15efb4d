/* SPDX-License-Identifier: MIT */
/*
 * The functions of libc that the shim stands in front of to follow the heap, and nothing else. Each
 * forwards what it was given, unchanged.  They are small on purpose: the stack is walked from their
 * caller on, whose registers are where their frame pointer points.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "shim/count.h"
#include "shim/emit.h"
#include "shim/guard.h"
#include "shim/heap_hook.h"
#include "shim/hook.h"
#include "shim/pool.h"
#include "shim/real.h"
#include "shim/session.h"

__attribute__((constructor)) static void start(void)
{
	session_start();
}

/* --- allocating -------------------------------------------------------------------------------*/

EXPORT void *malloc(size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_MALLOC, real.malloc(size), size);
}

EXPORT void *calloc(size_t number, size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_CALLOC, real.calloc(number, size), number * size);
}

EXPORT int posix_memalign(void **block, size_t align, size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);
	int error = real.posix_memalign(block, align, size);

	allocated(level, FRAME, WIRE_FN_POSIX_MEMALIGN, error ? NULL : *block, size);
	return error;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_ALIGNED_ALLOC, real.aligned_alloc(align, size),
			 size);
}

EXPORT void *memalign(size_t align, size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_MEMALIGN, real.memalign(align, size), size);
}

EXPORT void *valloc(size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_VALLOC, real.valloc(size), size);
}

EXPORT void *pvalloc(size_t size)
{
	int level = guard_enter(FRAME, GUARD_REAL);

	return allocated(level, FRAME, WIRE_FN_PVALLOC, real.pvalloc(size), size);
}

/* --- reallocating -----------------------------------------------------------------------------*/

static inline void begin(int level, const uintptr_t *frame, void *block)
{
	if (!block)
		return;
	if (__builtin_expect(level < 0, 0)) {
		count_realloc_begin(level, frame, block);
		return;
	}
	guard_phase(level, frame, GUARD_OURS);
	emit_realloc_begin(level, block);
	guard_phase(level, frame, GUARD_REAL);
}

static inline void *reallocated(int level, const uintptr_t *frame, enum wire_function function,
				void *block, void *new_block, size_t size)
{
	if (!block)
		return allocated(level, frame, function, new_block, size);
	if (__builtin_expect(level < 0, 0)) {
		new_block = count_realloc_end(level, frame, function, block, new_block, size);
		frame_was_needed();
		return new_block;
	}
	guard_phase(level, frame, GUARD_OURS);
	emit_realloc_end(level, frame, function, new_block, size,
			 new_block ? WIRE_RESULT_DONE
			 : size	   ? WIRE_RESULT_FAILED
				   : WIRE_RESULT_FREED);
	guard_leave(level);
	return new_block;
}

/* A block from the pool moves to the real heap, and so begins to count. */
static void *move_from_pool(const void *block, void *new_block, size_t size)
{
	if (new_block)
		memcpy(new_block, block, pool_size(block) < size ? pool_size(block) : size);
	return new_block;
}

EXPORT void *realloc(void *block, size_t size)
{
	if (pool_owns(block))
		return move_from_pool(block, malloc(size), size);

	int level = guard_enter(FRAME, GUARD_REAL);

	begin(level, FRAME, block);
	return reallocated(level, FRAME, WIRE_FN_REALLOC, block, real.realloc(block, size), size);
}

EXPORT void *reallocarray(void *block, size_t number, size_t size)
{
	if (pool_owns(block))
		return move_from_pool(block, calloc(number, size), number * size);

	int level = guard_enter(FRAME, GUARD_REAL);

	begin(level, FRAME, block);

	void *new_block = real.reallocarray(block, number, size);
	size_t bytes;
	bool overflow = __builtin_mul_overflow(number, size, &bytes);

	return reallocated(level, FRAME, WIRE_FN_REALLOCARRAY, block, new_block,
			   overflow ? SIZE_MAX : bytes);
}

/* --- freeing ----------------------------------------------------------------------------------*/

/* Before the real function.  False for what the real function must not see. */
static inline bool freeing(const uintptr_t *frame, enum wire_function function, void *block)
{
	if (pool_owns(block))
		return false;
	if (!block)
		return true;

	int level = guard_enter(frame, GUARD_OURS);

	if (__builtin_expect(level < 0, 0)) {
		count_free(level, function, block);
		return true;
	}
	emit_free(level, function, block);
	guard_leave(level);
	return true;
}

EXPORT void free(void *block)
{
	if (freeing(FRAME, WIRE_FN_FREE, block))
		real.free(block);
}

EXPORT void cfree(void *block);
EXPORT void cfree(void *block)
{
	if (freeing(FRAME, WIRE_FN_CFREE, block))
		real.cfree(block);
}

EXPORT void free_sized(void *block, size_t size);
EXPORT void free_sized(void *block, size_t size)
{
	if (freeing(FRAME, WIRE_FN_FREE_SIZED, block))
		real.free_sized(block, size);
}

EXPORT void free_aligned_sized(void *block, size_t align, size_t size);
EXPORT void free_aligned_sized(void *block, size_t align, size_t size)
{
	if (freeing(FRAME, WIRE_FN_FREE_ALIGNED_SIZED, block))
		real.free_aligned_sized(block, align, size);
}

EXPORT size_t malloc_usable_size(void *block)
{
	return pool_owns(block) ? pool_size(block) : real.malloc_usable_size(block);
}

/* --- code goes away ---------------------------------------------------------------------------*/

EXPORT int dlclose(void *handle)
{
	real_find();

	int error = real.dlclose(handle);

	modules_changed(&session.modules);
	return error;
}
