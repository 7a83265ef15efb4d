/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * heap_shapes STEPS SEED - four threads allocate blocks of many sizes, let them grow, and free what
 * others allocated; and each counts what it does.
 *
 * The blocks that a thread is done with go into a common place, out of which all of them free.  At
 * the end it prints as JSON: of each function that allocates, how many blocks of which size it asked
 * for, what malloc_usable_size() says there was more, how often a block moved and what was copied;
 * and who freed whose blocks.  "kept" are blocks that live at least 30 ms before they are freed.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 4
#define PLACES 256
#define CLASSES 48
#define KEPT 40
#define noinline __attribute__((noipa))

enum { MALLOC, REALLOC, KEEP, SITES };
static const char *const names[SITES] = { "by_malloc", "by_realloc", "by_keep" };

struct block {
	void *at;
	size_t size;
	int owner; /* the thread that allocated it, or that made it larger or smaller */
};

struct site {
	uint64_t sizes[CLASSES]; /* at most 2^i bytes, 16 at least */
	uint64_t slack, moved, copied;
	uint64_t lookalikes; /* as large and where a mapped block would be, but of a heap */
};

struct thread {
	pthread_t pthread;
	int tid, number;
	uint64_t random;
	struct block hand; /* what it works with */
	struct site site[SITES];
	uint64_t freed[THREADS + 1], freed_bytes[THREADS + 1]; /* by owner */
};

static struct thread threads[THREADS + 1]; /* the last is the first thread */
static struct block places[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long steps;

static uint64_t next_random(struct thread *t)
{
	t->random = t->random * 6364136223846793005u + 1442695040888963407u;
	return t->random >> 33;
}

static size_t some_size(struct thread *t)
{
	uint64_t kind = next_random(t) % 100;

	if (kind < 40)
		return 48;
	return kind < 97 ? next_random(t) % 700 : next_random(t) % 600000;
}

/* Blocks that are whole pages, 16 bytes behind the start of one, are not copied. */
static int is_mapped(uintptr_t at, size_t size)
{
	return size > 131048 && at % 4096 == 16;
}

/* By glibc's own word, before the block. */
static int is_of_a_heap(const struct block *block)
{
	return !(((const size_t *)block->at)[-1] & 2);
}

static void count(struct site *site, const struct block *block)
{
	int class = 4;

	while (block->size > UINT64_C(1) << class)
		class ++;
	site->sizes[class]++;
	site->slack += malloc_usable_size(block->at) - block->size;
	site->lookalikes += is_mapped((uintptr_t)block->at, block->size) && is_of_a_heap(block);
}

static noinline void *by_malloc(size_t size)
{
	return malloc(size);
}

static noinline void *by_realloc(void *block, size_t size)
{
	return realloc(block, size);
}

static noinline void *by_keep(size_t size)
{
	return malloc(size);
}

static struct block allocate(struct thread *t, int which)
{
	struct block block = { .size = some_size(t), .owner = t->number };

	block.at = which == KEEP ? by_keep(block.size) : by_malloc(block.size);
	count(&t->site[which], &block);
	return block;
}

static void grow(struct thread *t, struct block *block)
{
	struct site *site = &t->site[REALLOC];
	size_t size = block->size + 1 + some_size(t);
	uintptr_t before = (uintptr_t)block->at, after;

	block->at = by_realloc(block->at, size);
	after = (uintptr_t)block->at;
	site->moved += after != before;
	if (after != before && !(is_mapped(before, block->size) && is_mapped(after, size)))
		site->copied += block->size;
	block->size = size;
	block->owner = t->number;
	count(site, block);
}

static void release(struct thread *t, const struct block *block)
{
	if (!block->at)
		return;
	t->freed[block->owner]++;
	t->freed_bytes[block->owner] += block->size;
	free(block->at);
}

static struct block exchange(struct thread *t, struct block block)
{
	struct block *place = &places[next_random(t) % PLACES], before;

	pthread_mutex_lock(&lock);
	before = *place;
	*place = block;
	pthread_mutex_unlock(&lock);
	return before;
}

static void *work(void *argument)
{
	struct thread *t = argument;

	t->tid = gettid();
	for (long i = 0; i < steps; i++) {
		struct block block = exchange(t, allocate(t, MALLOC));

		for (uint64_t n = next_random(t) % 3; block.at && n; n--)
			grow(t, &block);
		release(t, &block);
	}
	return NULL;
}

static void keep_some(struct thread *t)
{
	struct block kept[KEPT];

	for (int i = 0; i < KEPT; i++)
		kept[i] = allocate(t, KEEP);
	usleep(30000);
	for (int i = 0; i < KEPT; i++)
		release(t, &kept[i]);
}

static void print_site(int which)
{
	struct site sum = { 0 };
	const char *comma = "";

	for (int i = 0; i <= THREADS; i++) {
		const struct site *site = &threads[i].site[which];

		for (int class = 0; class < CLASSES; class ++)
			sum.sizes[class] += site->sizes[class];
		sum.slack += site->slack;
		sum.moved += site->moved;
		sum.copied += site->copied;
		sum.lookalikes += site->lookalikes;
	}
	printf("%s\"%s\":{\"slack\":%" PRIu64 ",\"moved\":%" PRIu64 ",\"copied\":%" PRIu64
	       ",\"lookalikes\":%" PRIu64 ",\"sizes\":{",
	       which ? "," : "", names[which], sum.slack, sum.moved, sum.copied, sum.lookalikes);
	for (int class = 0; class < CLASSES; class ++)
		if (sum.sizes[class]) {
			printf("%s\"%llu\":%" PRIu64, comma, 1ULL << class, sum.sizes[class]);
			comma = ",";
		}
	printf("}}");
}

static void print_handoffs(void)
{
	const char *comma = "";

	for (int from = 0; from <= THREADS; from++)
		for (int to = 0; to <= THREADS; to++) {
			if (from == to || !threads[to].freed[from])
				continue;
			printf("%s[%d,%d,%" PRIu64 ",%" PRIu64 "]", comma, threads[from].tid,
			       threads[to].tid, threads[to].freed[from],
			       threads[to].freed_bytes[from]);
			comma = ",";
		}
}

int main(int argc, char **argv)
{
	struct thread *first = &threads[THREADS];

	steps = argc > 1 ? atol(argv[1]) : 1000;
	for (int i = 0; i <= THREADS; i++) {
		threads[i].number = i;
		threads[i].random = (argc > 2 ? strtoull(argv[2], NULL, 0) : 1) * 1000 + i;
	}
	first->tid = gettid();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i].pthread, NULL, work, &threads[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i].pthread, NULL);
	for (int i = 0; i < PLACES; i++)
		release(first, &places[i]);
	keep_some(first);

	printf("{\"sites\":{");
	for (int which = 0; which < SITES; which++)
		print_site(which);
	printf("},\"handoffs\":[");
	print_handoffs();
	printf("]}\n");
	return 0;
}
