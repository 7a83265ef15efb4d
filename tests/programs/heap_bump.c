/* SPDX-License-Identifier: MIT */
// PFLAGS: -shared -fPIC -fno-builtin
/*
 * heap_bump - an allocator to preload behind the shim: safe in signal handlers, nests, never frees.
 *
 * calloc calls malloc by its public name, as some libcs do: still one call of the program's.  With
 * BUMP_SIGNAL set, each 100th malloc raises SIGUSR1 from inside.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK ((size_t)1 << 32)

static _Atomic(char *) start;
static _Atomic size_t used, calls;
static _Thread_local int raising;

static char *chunk(void)
{
	char *mine = start, *none = NULL;

	if (mine)
		return mine;
	mine = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return atomic_compare_exchange_strong(&start, &none, mine) ? mine : none;
}

static void *bump(size_t align, size_t size)
{
	size_t need = (size + 16 + align + 15) & ~(size_t)15;
	size_t at = atomic_fetch_add(&used, need);

	if (size > CHUNK / 2 || at + need > CHUNK) {
		errno = ENOMEM;
		return NULL;
	}
	uintptr_t block = ((uintptr_t)chunk() + at + 16 + align - 1) & ~(align - 1);

	((size_t *)block)[-1] = size;
	return (void *)block;
}

void *malloc(size_t size)
{
	static int with_signal = -1;

	if (with_signal < 0)
		with_signal = getenv("BUMP_SIGNAL") != NULL;
	if (with_signal && !raising && atomic_fetch_add(&calls, 1) % 100 == 99) {
		raising = 1;
		raise(SIGUSR1);
		raising = 0;
	}
	return bump(16, size);
}

void *calloc(size_t number, size_t size)
{
	return malloc(number * size);
}

void *realloc(void *block, size_t size)
{
	void *other = malloc(size);

	if (block && other) {
		size_t old = ((size_t *)block)[-1];

		memcpy(other, block, old < size ? old : size);
		free(block);
	}
	return other;
}

void free(void *block)
{
	(void)block;
}

int posix_memalign(void **block, size_t align, size_t size)
{
	*block = bump(align < 16 ? 16 : align, size);
	return *block ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t size)
{
	return bump(align < 16 ? 16 : align, size);
}

void *memalign(size_t align, size_t size)
{
	return bump(align < 16 ? 16 : align, size);
}
