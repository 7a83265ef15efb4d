// SPDX-License-Identifier: MIT
// PFLAGS: -shared -fPIC -fno-builtin
/*
 * bench_forward - a preload that passes allocations on: what any preload costs at least.
 *
 * With glibc only: it knows the functions behind by name and looks up nothing.
 */
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *block);

void *malloc(size_t size)
{
	return __libc_malloc(size);
}

void free(void *block)
{
	__libc_free(block);
}
