/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * heap_touch - allocates more memory than it touches, and counts its page faults.
 *
 * Of a block of 16,384 pages it writes to 3,000, of a second one in another thread to 500, of a
 * third one to none; 20,000 small blocks it fills; a block it frees is touched no more, and the
 * memory that it maps itself is nobody's.  Prints as JSON by function: the page faults that the
 * kernel counted while it touched the function's blocks (and, of the small ones, allocated them).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define PAGE 4096
#define LARGE (16384UL * PAGE)
#define SMALL 20000
#define noinline __attribute__((noipa))

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static noinline char *by_some(size_t size)
{
	return malloc(size);
}

static noinline char *by_thread(size_t size)
{
	return malloc(size);
}

static noinline char *by_none(size_t size)
{
	return malloc(size);
}

static noinline char *by_small(size_t size)
{
	return malloc(size);
}

/* Huge pages would be one fault for 512 of them. */
static char *small_pages(char *block, size_t size)
{
	char *start = block - (size_t)block % PAGE;

	madvise(start, size, MADV_NOHUGEPAGE);
	return block;
}

static long touch(volatile char *block, long pages)
{
	long before = faults();

	for (long i = 0; i < pages; i++)
		block[PAGE + i * 5 * PAGE] = 1;
	return faults() - before;
}

static void *touch_in_thread(void *result)
{
	char *block = small_pages(by_thread(LARGE), LARGE);

	*(long *)result = touch(block, 500);
	free(block);
	return NULL;
}

static long fill_small(char **blocks)
{
	long before = faults();

	for (int i = 0; i < SMALL; i++)
		memset(blocks[i] = by_small(100), 1, 100);
	return faults() - before;
}

int main(void)
{
	static char *blocks[SMALL];
	char *some = small_pages(by_some(LARGE), LARGE), *none = by_none(LARGE), *own;
	long in_thread, of_some, of_small, of_own;
	pthread_t thread;

	memset(blocks, 1, sizeof(blocks));
	of_some = touch(some, 3000);
	pthread_create(&thread, NULL, touch_in_thread, &in_thread);
	pthread_join(thread, NULL);
	of_small = fill_small(blocks);
	own = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	of_own = touch(small_pages(own, LARGE), 700);
	free(none);
	printf("{\"by_some\":%ld,\"by_thread\":%ld,\"by_none\":0,\"by_small\":%ld,\"own\":%ld}\n",
	       of_some, in_thread, of_small, of_own);
	return 0;
}
