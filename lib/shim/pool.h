/* SPDX-License-Identifier: MIT */
/*
 * pool - memory for who calls malloc before the real malloc is known.
 *
 * dlsym() itself may allocate while the shim asks it for malloc.  Those few blocks come from here.
 * They are zeroed, aligned to 16, never given back, and recognised for ever: libc may free them
 * as late as in its exit handlers.  Threads and signal handlers may all call this.
 */
#ifndef SHIM_POOL_H
#define SHIM_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_BYTES (64 << 10)

extern unsigned char pool[POOL_BYTES];

/* NULL when there is no room.  align: a power of two, or 0 for 16. */
void *pool_alloc(size_t size, size_t align);

/* The size that a block from here was asked for with. */
size_t pool_size(const void *block);

static inline bool pool_owns(const void *block)
{
	return (uintptr_t)block - (uintptr_t)pool < POOL_BYTES;
}

#endif
