/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * heap_killed FILE - four threads that allocate, enlarge and free until somebody kills them.
 *
 * What each of them has begun and what it has done is in FILE, which outlives the program: after
 * a kill the one is ahead of the other by the operation that was under way.  That is, for each
 * thread, twice four numbers: allocations, reallocations, frees, bytes asked for.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 4
#define PLACES 64
#define noinline __attribute__((noipa)) /* nor folded into one another */

enum { ALLOCATIONS, REALLOCATIONS, FREES, BYTES, FIGURES };

struct counts {
	volatile uint64_t begun[FIGURES], done[FIGURES];
};
static struct counts *counts;

static uint64_t random_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static noinline void *enlarge(struct counts *c, void *block, size_t size)
{
	c->begun[REALLOCATIONS]++;
	c->begun[BYTES] += size;
	block = realloc(block, size);
	c->done[REALLOCATIONS]++;
	c->done[BYTES] += size;
	return block;
}

static noinline void *allocate(struct counts *c, size_t size)
{
	c->begun[ALLOCATIONS]++;
	c->begun[BYTES] += size;

	void *block = malloc(size);

	c->done[ALLOCATIONS]++;
	c->done[BYTES] += size;
	return block;
}

static noinline void give_back(struct counts *c, void *block)
{
	c->begun[FREES]++;
	free(block);
	c->done[FREES]++;
}

static void *work(void *argument)
{
	struct counts *c = argument;
	uint64_t state = (uint64_t)(c - counts);
	void *places[PLACES] = { 0 };

	for (;;) {
		void **place = &places[random_number(&state) % PLACES];
		size_t size = 1 + random_number(&state) % 500;

		if (!*place)
			*place = allocate(c, size);
		else if (random_number(&state) % 3)
			*place = (give_back(c, *place), NULL);
		else
			*place = enlarge(c, *place, 500 + size);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	pthread_t thread;

	if (ftruncate(fd, THREADS * sizeof(*counts)))
		return 1;
	counts = mmap(NULL, THREADS * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, work, &counts[i]);
	pause();
	return 0;
}
