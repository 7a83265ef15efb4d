/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * heap_threads - many threads that allocate, hand blocks to each other, and allocate when they end.
 *
 *	heap_threads THREADS ROUNDS [ROUNDS_OF_THREADS]
 *
 * Stacks are as small as allowed.  Blocks are few and small, so the allocator hands out the same
 * addresses again and again, on all threads.  Prints what has to be counted at least.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXCHANGE 64

static _Atomic(void *) exchange[EXCHANGE];
static _Atomic unsigned long allocations, frees;
static pthread_key_t key;
static unsigned long rounds;

/* Runs after the thread's function, and again for what it sets itself. */
static void at_thread_end(void *block)
{
	static _Thread_local int times;

	free(block);
	frees++;
	if (times++ < 2) {
		pthread_setspecific(key, malloc(24));
		allocations++;
	}
}

static void *work(void *arg)
{
	uint64_t x = (uintptr_t)arg * 2654435761u + 88172645463325252u;
	unsigned long mine = 0, gone = 0;

	pthread_setspecific(key, malloc(24));
	mine++;
	for (unsigned long i = 0; i < rounds; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		void *block = malloc(16 + x % 100);

		mine++;
		if (x >> 20 & 1) {
			block = realloc(block, 16 + (x >> 32) % 200);
		}
		block = atomic_exchange(&exchange[(x >> 40) % EXCHANGE], block);
		if (block) {
			free(block);
			gone++;
		}
	}
	allocations += mine;
	frees += gone;
	return NULL;
}

static void at_exit(void)
{
	free(malloc(12));
}

static void run(int nr)
{
	pthread_t threads[1024];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&threads[i], &attributes, work, (void *)(uintptr_t)(i + 1)))
			exit(2);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 4, again = argc > 3 ? atoi(argv[3]) : 1;
	char line[128];

	rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 100000;
	if (nr > 1024)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	atexit(at_exit);
	pthread_key_create(&key, at_thread_end);
	while (again--)
		run(nr);
	for (int i = 0; i < EXCHANGE; i++)
		if (exchange[i]) {
			free(exchange[i]);
			frees++;
		}
	int length = snprintf(line, sizeof(line), "%lu %lu\n", allocations + 1, frees + 1);

	fwrite(line, 1, (size_t)length, stdout);
	return 0;
}
