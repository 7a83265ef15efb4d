/* SPDX-License-Identifier: MIT */
#include "shim/pool.h"

#include <stdatomic.h>

#define GRAIN 16

_Alignas(GRAIN) unsigned char pool[POOL_BYTES];
static _Atomic size_t used;

/* In front of each block. */
struct head {
	_Alignas(GRAIN) size_t size;
};

void *pool_alloc(size_t size, size_t align)
{
	if (align < GRAIN)
		align = GRAIN;
	if (size > POOL_BYTES || align > POOL_BYTES)
		return NULL;

	size_t need = (sizeof(struct head) + align + size + GRAIN - 1) / GRAIN * GRAIN;
	size_t at = atomic_load_explicit(&used, memory_order_relaxed);

	do {
		if (need > POOL_BYTES - at)
			return NULL;
	} while (!atomic_compare_exchange_weak(&used, &at, at + need));

	uintptr_t start = (uintptr_t)pool + at + sizeof(struct head);
	unsigned char *block = pool + at + sizeof(struct head) + (-start & (align - 1));

	((struct head *)block)[-1].size = size;
	return block;
}

size_t pool_size(const void *block)
{
	return ((const struct head *)block)[-1].size;
}
