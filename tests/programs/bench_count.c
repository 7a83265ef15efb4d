// SPDX-License-Identifier: MIT
// PFLAGS: -shared -fPIC -fno-builtin
/*
 * bench_count - a preload that counts with atomics what programs count that do it themselves:
 * blocks, live bytes and their peak.  No stacks.  With glibc only.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *block);

static _Atomic size_t nr_blocks, live, peak;

void *malloc(size_t size)
{
	void *block = __libc_malloc(size);
	size_t bytes = block ? malloc_usable_size(block) : 0;
	size_t now = atomic_fetch_add(&live, bytes) + bytes;
	size_t highest = atomic_load(&peak);

	atomic_fetch_add(&nr_blocks, 1);
	while (now > highest && !atomic_compare_exchange_weak(&peak, &highest, now))
		;
	return block;
}

void free(void *block)
{
	if (block)
		atomic_fetch_sub(&live, malloc_usable_size(block));
	__libc_free(block);
}
