// SPDX-License-Identifier: MIT
// PFLAGS: -fno-builtin
/*
 * bench_alloc [PAIRS [DEPTH [LIVE [THREADS]]]] - an allocation-heavy program for scripts/bench.
 *
 * Each thread makes PAIRS (1000000) allocations of 16 to 511 bytes and frees each of them, from 64
 * stacks about DEPTH (15) frames deep of which a few change from one call to the next, as they do
 * in real programs, with LIVE (100000) blocks live at a time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
#define BRANCHES 3 /* stacks: two ways at each of so many frames, eight depths */

struct heap {
	char **live;
	size_t nr_live;
	uint64_t random;
};

static unsigned long pairs = 1000000, depth = 15, nr_live = 100000, nr_threads = 1;

static uint64_t next_random(struct heap *heap)
{
	heap->random ^= heap->random << 13;
	heap->random ^= heap->random >> 7;
	heap->random ^= heap->random << 17;
	return heap->random;
}

/* Frees the block that is at a random place, and puts a new one there. */
static NOINLINE void replace_one(struct heap *heap, uint64_t random)
{
	char **place = &heap->live[(random >> 20) % heap->nr_live];
	size_t size = 16 + (random >> 48) % 496;

	free(*place);
	*place = malloc(size);
	(*place)[0] = (*place)[size - 1] = 1;
}

static NOINLINE void left(struct heap *heap, unsigned int level, unsigned int path,
			  uint64_t random);

static NOINLINE void right(struct heap *heap, unsigned int level, unsigned int path,
			   uint64_t random)
{
	if (level == 0)
		replace_one(heap, random);
	else if (path & 1)
		left(heap, level - 1, path >> 1, random);
	else
		right(heap, level - 1, path >> 1, random);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void left(struct heap *heap, unsigned int level, unsigned int path, uint64_t random)
{
	if (level == 0)
		replace_one(heap, random);
	else if (path & 1)
		right(heap, level - 1, path >> 1, random);
	else
		left(heap, level - 1, path >> 1, random);
	__asm__ volatile("" ::: "memory");
}

/* The path's bits lead the last frames, so that neighbours in time share their callers. */
static NOINLINE void descend(struct heap *heap, unsigned int level, unsigned int path,
			     uint64_t random)
{
	if (level <= BRANCHES)
		left(heap, level, path, random);
	else
		descend(heap, level - 1, path, random);
	__asm__ volatile("" ::: "memory");
}

static void *work(void *seed)
{
	struct heap heap = { .nr_live = nr_live, .random = (uintptr_t)seed * 88172645463325252u };

	heap.live = calloc(heap.nr_live, sizeof(*heap.live));
	for (unsigned long i = 0; i < pairs; i++) {
		uint64_t random = next_random(&heap);
		unsigned int level = (unsigned int)(depth > 4 ? depth - 4 : 0) + (random & 7);

		descend(&heap, level, (random >> 3) & 7, random);
	}
	for (size_t i = 0; i < heap.nr_live; i++)
		free(heap.live[i]);
	free(heap.live);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[64];

	for (unsigned long i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(2 * i + 1));
	for (unsigned long i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	unsigned long *const arguments[] = { &pairs, &depth, &nr_live, &nr_threads };

	for (int i = 1; i < argc && i <= 4; i++)
		*arguments[i - 1] = strtoul(argv[i], NULL, 0);
	if (nr_live == 0 || nr_threads == 0 || nr_threads > 64) {
		fputs("usage: bench_alloc [PAIRS [DEPTH [LIVE [THREADS]]]]\n", stderr);
		return 64;
	}
	if (nr_threads == 1)
		work((void *)1);
	else
		run_threads();
	return 0;
}
