/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin -Wno-alloc-size-larger-than
/*
 * heap_every - calls every allocation function there is, also where it must fail.
 *
 * Prints what has to be counted: allocations, reallocations, frees, bytes allocated.  Exits with 1
 * if a function does not behave as without a profiler (errno, contents, alignment).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long allocations, reallocations, frees, bytes;
static int bad;

static void check(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "wrong: %s\n", what);
		bad = 1;
	}
}

static void *counted(void *block, size_t size)
{
	check(block != NULL, "allocation");
	allocations++;
	bytes += size;
	return block;
}

static void give(void *block)
{
	errno = 77;
	free(block);
	check(errno == 77, "errno after free");
	frees++;
}

static void allocate(void)
{
	void *block = NULL;
	size_t i;

	give(counted(malloc(100), 100));
	give(counted(malloc(0), 0));

	char *zero = counted(calloc(10, 30), 300);
	for (i = 0; i < 300 && !zero[i]; i++)
		;
	check(i == 300, "calloc zeroes");
	give(zero);

	check(!posix_memalign(&block, 256, 1000) && !((uintptr_t)block % 256), "posix_memalign");
	give(counted(block, 1000));
	give(counted(aligned_alloc(64, 640), 640));
	give(counted(memalign(128, 129), 129));
	give(counted(valloc(5000), 5000));
	give(counted(pvalloc(5000), 5000));
	give(counted(realloc(NULL, 40), 40));
	give(counted(reallocarray(NULL, 4, 50), 200));
	check(malloc_usable_size(block = counted(malloc(24), 24)) >= 24, "malloc_usable_size");
	give(block);
}

static void reallocate(void)
{
	char *block = counted(malloc(10), 10);

	strcpy(block, "contents");
	for (size_t size = 20; size < 3000000; size *= 3) {
		block = realloc(block, size);
		check(block && !strcmp(block, "contents"), "realloc keeps the contents");
		reallocations++;
		bytes += size;
	}
	block = reallocarray(block, 3, 7);
	reallocations++;
	bytes += 21;
	check(!strcmp(block, "contents"), "reallocarray keeps the contents");
	errno = 0;
	check(!realloc(block, SIZE_MAX / 2) && errno == ENOMEM, "realloc of too much");
	check(!reallocarray(block, SIZE_MAX / 2, 3) && errno == ENOMEM, "reallocarray overflow");
	check(!strcmp(block, "contents"), "a failed realloc keeps the block");
	check(!realloc(block, 0), "realloc to nothing frees here");
	frees++;
}

/* Nothing of this counts. */
static void fail(void)
{
	void *block = (void *)1;

	errno = 0;
	check(!malloc(SIZE_MAX / 2) && errno == ENOMEM, "malloc of too much");
	check(!calloc(SIZE_MAX / 2, 3), "calloc overflow");
	check(posix_memalign(&block, 3, 10) == EINVAL, "posix_memalign of odd alignment");
	check(posix_memalign(&block, 64, SIZE_MAX / 2) == ENOMEM, "posix_memalign of too much");
	free(NULL);
}

int main(void)
{
	char line[128];

	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 3; i++) {
		allocate();
		reallocate();
		fail();
	}
	int length = snprintf(line, sizeof(line), "%lu %lu %lu %lu\n", allocations, reallocations,
			      frees, bytes);

	fwrite(line, 1, (size_t)length, stdout);
	return bad;
}
