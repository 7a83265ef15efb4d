/* SPDX-License-Identifier: MIT */
/*
 * heap_sites [FILE [TURNS [polite]]] - four threads allocate at eight sites, and know what they
 * did.
 *
 * They take turns, so every run does the same in the same order.  Each turn allocates by one of
 * several functions, frees blocks of any thread, reallocates (larger, smaller, in vain unless
 * polite, to
 * nothing), or makes a temporary.  In the middle 300 large blocks live for a moment: the peak.
 *
 * FILE gets as JSON, per function and in all: allocations, frees, reallocations, allocated, freed,
 * live and temporary, and what was held at the peak, all added up by brute force.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define PLACES 512
#define BURST 300
#define noinline __attribute__((noipa)) /* nor folded into one another */

static const char *const names[] = { "by_malloc",   "by_calloc",  "by_realloc", "by_reallocarray",
				     "by_memalign", "by_aligned", "by_burst",	"by_temporary" };
enum { MALLOC, CALLOC, REALLOC, REALLOCARRAY, MEMALIGN, ALIGNED, BURSTS, TEMPORARY, SITES };

struct figures {
	long allocations, frees, reallocations, allocated, freed, temporary;
	long live_bytes, live_blocks, peak_bytes, peak_blocks;
};
static struct figures site[SITES], total;

static struct block {
	void *address;
	size_t size;
	int site;
	long operation; /* that made it; 0: a reallocation */
} blocks[PLACES], burst[BURST];

static long operations, last_operation[THREADS]; /* an allocation, or 0 */
static int me;					 /* whose turn it is */
static int polite;
static volatile size_t too_much = SIZE_MAX / 4;

/* --- what it knows ----------------------------------------------------------------------------*/

static void add(int s, long bytes, long blocks_more)
{
	site[s].live_bytes += bytes;
	site[s].live_blocks += blocks_more;
	total.live_bytes += bytes;
	total.live_blocks += blocks_more;
}

/* The latest of equal peaks counts. */
static void look(void)
{
	if (total.live_bytes < total.peak_bytes)
		return;
	total.peak_bytes = total.live_bytes;
	total.peak_blocks = total.live_blocks;
	for (int s = 0; s < SITES; s++) {
		site[s].peak_bytes = site[s].live_bytes;
		site[s].peak_blocks = site[s].live_blocks;
	}
}

static void made(struct block *b, void *address, size_t size, int s)
{
	*b = (struct block){ address, size, s, ++operations };
	last_operation[me] = operations;
	site[s].allocations++;
	site[s].allocated += (long)size;
	add(s, (long)size, 1);
	look();
}

static void unmade(struct block *b)
{
	site[b->site].frees++;
	site[b->site].freed += (long)b->size;
	site[b->site].temporary += b->operation && b->operation == last_operation[me];
	last_operation[me] = 0;
	add(b->site, -(long)b->size, -1);
	look();
	b->address = NULL;
}

static void remade(struct block *b, void *address, size_t size, int s)
{
	site[s].reallocations++;
	site[s].allocated += (long)size;
	site[s].freed += (long)b->size;
	add(b->site, -(long)b->size, -1);
	add(s, (long)size, 1);
	look();
	*b = (struct block){ address, size, s, 0 };
	last_operation[me] = 0;
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
	void *p = calloc(2, size / 2);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static noinline void *by_realloc(void *old, size_t size)
{
	void *p = realloc(old, size);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static noinline void *by_reallocarray(void *old, size_t nr, size_t size)
{
	void *p = reallocarray(old, nr, size);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static noinline void *by_memalign(size_t size)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, size))
		abort();
	return p;
}

static noinline void *by_aligned(size_t size)
{
	void *p = aligned_alloc(32, size);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static noinline void *by_burst(size_t size)
{
	void *p = malloc(size);
	__asm__ volatile("" : "+r"(p));
	return p;
}

static noinline void by_temporary(size_t size)
{
	struct block b;
	void *p = malloc(size);
	__asm__ volatile("" : "+r"(p));

	made(&b, p, size, TEMPORARY);
	unmade(&b);
	free(p);
}

static noinline void give_back(struct block *b)
{
	void *p = b->address;

	unmade(b);
	free(p);
}

static unsigned int random_below(unsigned int n)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(state >> 33) % n;
}

static void allocate(struct block *b)
{
	size_t size = 32 * random_below(20);

	switch (random_below(5)) {
	case 0:
		made(b, by_malloc(size), size, MALLOC);
		break;
	case 1:
		made(b, by_calloc(size), size, CALLOC);
		break;
	case 2:
		made(b, by_realloc(NULL, size + 1), size + 1, REALLOC);
		break;
	case 3:
		made(b, by_memalign(size), size, MEMALIGN);
		break;
	default:
		made(b, by_aligned(size), size, ALIGNED);
	}
}

static void reallocate(struct block *b)
{
	size_t size = 1 + random_below(random_below(10) ? 700 : 200000);
	void *p;

	switch (random_below(8)) {
	case 0: /* nothing happens */
		if (!polite && by_realloc(b->address, too_much))
			abort();
		return;
	case 1: /* a free, by another name */
		p = b->address;
		unmade(b);
		if (by_realloc(p, 0))
			abort();
		return;
	case 2:
	case 3:
		p = by_reallocarray(b->address, 2, size);
		remade(b, p, 2 * size, REALLOCARRAY);
		return;
	default:
		p = by_realloc(b->address, size);
		remade(b, p, size, REALLOC);
	}
}

static void turn(void)
{
	struct block *b = &blocks[random_below(PLACES)];

	if (!random_below(6))
		by_temporary(random_below(100));
	else if (!b->address)
		allocate(b);
	else if (random_below(2))
		give_back(b);
	else
		reallocate(b);
}

/* Made by all threads in turns, freed by all in turns. */
static void burst_turn(long n)
{
	struct block *b = &burst[n < BURST ? n : n - BURST];

	if (n < BURST)
		made(b, by_burst(5000), 5000, BURSTS);
	else
		give_back(b);
}

/* --- taking turns -----------------------------------------------------------------------------*/

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static int arrived;
static long now, turns = 4000;

static void *take_turns(void *argument)
{
	int mine = (int)(intptr_t)argument;

	pthread_mutex_lock(&mutex);
	arrived++;
	pthread_cond_broadcast(&next);
	while (now < turns) {
		if (arrived < THREADS || now / 10 % THREADS != mine) {
			pthread_cond_wait(&next, &mutex);
			continue;
		}
		me = mine;
		if (now >= turns / 2 && now < turns / 2 + 2 * BURST)
			burst_turn(now - turns / 2);
		else
			turn();
		if (++now % 10 == 0)
			pthread_cond_broadcast(&next);
	}
	pthread_cond_broadcast(&next);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void print(int fd, const char *name, const struct figures *f, const char *after)
{
	static char line[1024];
	int length = snprintf(line, sizeof(line),
			      "\"%s\":{\"allocations\":%ld,\"frees\":%ld,\"reallocations\":%ld,"
			      "\"allocated_bytes\":%ld,\"freed_bytes\":%ld,\"temporary\":%ld,"
			      "\"live_bytes\":%ld,\"live_blocks\":%ld,"
			      "\"at_peak_bytes\":%ld,\"at_peak_blocks\":%ld}%s\n",
			      name, f->allocations, f->frees, f->reallocations, f->allocated,
			      f->freed, f->temporary, f->live_bytes, f->live_blocks, f->peak_bytes,
			      f->peak_blocks, after);

	if (write(fd, line, (size_t)length) != length)
		abort();
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	int fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : 1;

	turns = argc > 2 ? atol(argv[2]) : turns;
	polite = argc > 3;
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	if (write(fd, "{", 1) != 1)
		abort();
	for (int s = 0; s < SITES; s++)
		print(fd, names[s], &site[s], ",");
	print(fd, "total", &total, "}");
	return 0;
}
