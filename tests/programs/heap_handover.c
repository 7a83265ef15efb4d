// SPDX-License-Identifier: MIT
/* heap_handover: a thread "maker" allocates 3000 blocks of 10 to 3009 bytes and enlarges each third
 * by 100; a thread "taker" frees all of the first 2000, then "maker" frees the others and makes
 * 500 temporaries of 7 bytes.  Prints a line "NAME TID ALLOCATIONS FREES REALLOCATIONS
 * ALLOCATED_BYTES FREED_BYTES TEMPORARY" for each, as they count. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 3000, TAKEN = 2000, TEMPORARY = 500 };

struct count {
	const char *name;
	int tid;
	long allocations, frees, reallocations, allocated, freed, temporary;
};

static char *block[BLOCKS];
static size_t size[BLOCKS];
static struct count maker = { .name = "maker" }, taker = { .name = "taker" };
static pthread_barrier_t made, taken;

static void begin(struct count *count)
{
	pthread_setname_np(pthread_self(), count->name);
	count->tid = gettid();
}

static void drop(struct count *count, int i)
{
	free(block[i]);
	count->frees++;
	count->freed += size[i];
}

static void make(int i)
{
	size[i] = 10 + i;
	block[i] = malloc(size[i]);
	maker.allocations++;
	maker.allocated += size[i];
	if (i % 3)
		return;
	block[i] = realloc(block[i], size[i] + 100);
	maker.reallocations++;
	maker.freed += size[i];
	size[i] += 100;
	maker.allocated += size[i];
}

static void make_temporary(void)
{
	char *volatile p = malloc(7);

	free(p);
	maker.allocations++;
	maker.frees++;
	maker.temporary++;
	maker.allocated += 7;
	maker.freed += 7;
}

static void *make_all(void *unused)
{
	begin(&maker);
	for (int i = 0; i < BLOCKS; i++)
		make(i);
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&taken);
	for (int i = TAKEN; i < BLOCKS; i++)
		drop(&maker, i);
	for (int i = 0; i < TEMPORARY; i++)
		make_temporary();
	return unused;
}

static void *take_some(void *unused)
{
	begin(&taker);
	pthread_barrier_wait(&made);
	for (int i = 0; i < TAKEN; i++)
		drop(&taker, i);
	pthread_barrier_wait(&taken);
	return unused;
}

static void print(const struct count *c)
{
	printf("%s %d %ld %ld %ld %ld %ld %ld\n", c->name, c->tid, c->allocations, c->frees,
	       c->reallocations, c->allocated, c->freed, c->temporary);
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&made, NULL, 2);
	pthread_barrier_init(&taken, NULL, 2);
	pthread_create(&threads[0], NULL, make_all, NULL);
	pthread_create(&threads[1], NULL, take_some, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	print(&maker);
	print(&taker);
	return 0;
}
