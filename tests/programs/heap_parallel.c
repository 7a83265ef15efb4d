/* SPDX-License-Identifier: MIT */
/*
 * heap_parallel SEED - four threads that allocate, reallocate and free at the same time, each
 * other's blocks too, and know what they did.
 *
 * Who gets hold of a block is left to chance; each thread counts what it did.  In turns all only
 * allocate and enlarge, and all only shrink and free.  So the heap is largest when they change from
 * the one to the other, wherever each was in between, and what is held then can be added up.
 *
 * Prints as JSON what heap_sites does, by function.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define PLACES 2000
#define ROUNDS 6
#define LARGEST 3000
#define TEMPORARY_MOST 100
#define noinline __attribute__((noipa)) /* nor folded into one another */

static const char *const names[] = { "by_malloc", "by_calloc", "larger", "smaller",
				     "by_temporary" };
enum { MALLOC, CALLOC, LARGER, SMALLER, TEMPORARY, SITES };

struct figures {
	long allocations, frees, reallocations, allocated, freed, temporary;
	long live_bytes, live_blocks, peak_bytes, peak_blocks;
};

struct block {
	atomic_bool taken; /* by a thread */
	void *address;
	size_t size;
	int site;
	uint64_t operation; /* that made it; 0: a reallocation */
};
static struct block places[PLACES];

static struct thread {
	struct figures site[SITES]; /* of what it did itself: live may be negative */
	uint64_t random, number, operations;
	uint64_t last; /* operation, if it was an allocation */
	long gone;     /* bytes, since all went on to shrink and free */
} threads[THREADS];

static pthread_barrier_t together;
static struct figures sum[SITES];

/* --- what a thread knows ----------------------------------------------------------------------*/

static void add(struct figures *f, long bytes, long blocks)
{
	f->live_bytes += bytes;
	f->live_blocks += blocks;
}

static void made(struct thread *t, struct block *b, void *address, size_t size, int s)
{
	b->address = address;
	b->size = size;
	b->site = s;
	b->operation = t->last = ++t->operations * THREADS + t->number;
	t->site[s].allocations++;
	t->site[s].allocated += (long)size;
	t->gone -= (long)size;
	add(&t->site[s], (long)size, 1);
}

static void unmade(struct thread *t, struct block *b)
{
	struct figures *f = &t->site[b->site];

	f->frees++;
	f->freed += (long)b->size;
	f->temporary += b->operation && b->operation == t->last;
	t->last = 0;
	t->gone += (long)b->size;
	add(f, -(long)b->size, -1);
	b->address = NULL;
}

static void remade(struct thread *t, struct block *b, void *address, size_t size, int s)
{
	t->site[s].reallocations++;
	t->site[s].allocated += (long)size;
	t->site[s].freed += (long)b->size;
	t->gone += (long)b->size - (long)size;
	add(&t->site[b->site], -(long)b->size, -1);
	add(&t->site[s], (long)size, 1);
	b->address = address;
	b->size = size;
	b->site = s;
	b->operation = t->last = 0;
}

/* --- what it does -----------------------------------------------------------------------------*/

static noinline void *by_malloc(size_t size)
{
	void *p = malloc(size);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static noinline void *by_calloc(size_t size)
{
	void *p = calloc(1, size);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static noinline void *larger(void *old, size_t size)
{
	void *p = realloc(old, size);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static noinline void *smaller(void *old, size_t size)
{
	void *p = realloc(old, size);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static noinline void by_temporary(struct thread *t, size_t size)
{
	struct block b;
	void *p = malloc(size);
	__asm__ volatile("" : "+r"(p));

	made(t, &b, p, size, TEMPORARY);
	unmade(t, &b);
	free(p);
}

static size_t random_below(struct thread *t, size_t n)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return (t->random >> 33) % n;
}

static void grow(struct thread *t, struct block *b)
{
	size_t size = 1 + random_below(t, 900);

	if (b->address) {
		if (b->size < LARGEST && !random_below(t, 4))
			remade(t, b, larger(b->address, b->size + size), b->size + size, LARGER);
	} else if (random_below(t, 2)) {
		made(t, b, by_malloc(size), size, MALLOC);
	} else {
		made(t, b, by_calloc(size), size, CALLOC);
	}
}

/* Temporaries are smaller than what this thread has already freed. */
static void shrink(struct thread *t, struct block *b)
{
	void *p = b->address;

	if (t->gone > 2 * TEMPORARY_MOST && !random_below(t, 4)) {
		by_temporary(t, 1 + random_below(t, TEMPORARY_MOST));
	} else if (p && b->size > 2 && !random_below(t, 3)) {
		size_t size = 1 + random_below(t, b->size - 1);

		remade(t, b, smaller(p, size), size, SMALLER);
	} else if (p) {
		unmade(t, b);
		free(p);
	}
}

static void steps(struct thread *t, size_t nr, void (*step)(struct thread *t, struct block *b))
{
	while (nr--) {
		struct block *b = &places[random_below(t, PLACES)];

		if (atomic_exchange(&b->taken, true))
			continue;
		step(t, b);
		atomic_store(&b->taken, false);
	}
}

/* --- all together -----------------------------------------------------------------------------*/

static void add_up(void)
{
	for (int s = 0; s < SITES; s++) {
		struct figures f = { .peak_bytes = sum[s].peak_bytes,
				     .peak_blocks = sum[s].peak_blocks };

		for (int i = 0; i < THREADS; i++) {
			const struct figures *mine = &threads[i].site[s];

			f.allocations += mine->allocations;
			f.frees += mine->frees;
			f.reallocations += mine->reallocations;
			f.allocated += mine->allocated;
			f.freed += mine->freed;
			f.temporary += mine->temporary;
			add(&f, mine->live_bytes, mine->live_blocks);
		}
		sum[s] = f;
	}
}

/* The latest of equal peaks counts. */
static void look(void)
{
	static long peak;
	long live = 0;

	add_up();
	for (int s = 0; s < SITES; s++)
		live += sum[s].live_bytes;
	if (live < peak)
		return;
	peak = live;
	for (int s = 0; s < SITES; s++) {
		sum[s].peak_bytes = sum[s].live_bytes;
		sum[s].peak_blocks = sum[s].live_blocks;
	}
}

static void *work(void *argument)
{
	struct thread *t = argument;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&together);
		steps(t, 500 + random_below(t, 4000), grow);
		if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD)
			look();
		t->gone = 0;
		pthread_barrier_wait(&together);
		steps(t, random_below(t, 4000), shrink);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS];
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		threads[i].number = (uint64_t)i;
		threads[i].random = seed * 104729 + (uint64_t)i * 7919;
		pthread_create(&ids[i], NULL, work, &threads[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);

	add_up();
	for (int s = 0; s < SITES; s++)
		printf("%s\"%s\":{\"allocations\":%ld,\"frees\":%ld,\"reallocations\":%ld,"
		       "\"allocated_bytes\":%ld,\"freed_bytes\":%ld,\"temporary\":%ld,"
		       "\"live_bytes\":%ld,\"live_blocks\":%ld,"
		       "\"at_peak_bytes\":%ld,\"at_peak_blocks\":%ld}",
		       s ? ",\n" : "{", names[s], sum[s].allocations, sum[s].frees,
		       sum[s].reallocations, sum[s].allocated, sum[s].freed, sum[s].temporary,
		       sum[s].live_bytes, sum[s].live_blocks, sum[s].peak_bytes,
		       sum[s].peak_blocks);
	puts("}");
	return 0;
}
