// SPDX-License-Identifier: MIT
// PFLAGS: -fno-builtin
/*
 * bench_pass [BLOCKS [PAIRS]] - a program for scripts/bench whose blocks are freed by other threads.
 *
 * Each of PAIRS (1) producers makes BLOCKS (1000000) allocations of 16 to 511 bytes, about 15 frames
 * deep, and passes them on to a consumer of its own, which frees them; at most 4,096 are on their way.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROOM 4096u
#define DEPTH 12

struct pipe {
	_Alignas(64) _Atomic unsigned long nr_put;
	_Alignas(64) _Atomic unsigned long nr_taken;
	uint64_t random;
	char *block[ROOM];
};

static unsigned long nr_blocks = 1000000, nr_pairs = 1;

static uint64_t next_random(struct pipe *pipe)
{
	pipe->random ^= pipe->random << 13;
	pipe->random ^= pipe->random >> 7;
	pipe->random ^= pipe->random << 17;
	return pipe->random;
}

static NOINLINE void put(struct pipe *pipe, unsigned long nr, uint64_t random)
{
	size_t size = 16 + (random >> 48) % 496;
	char *block = malloc(size);

	block[0] = block[size - 1] = 1;
	while (nr - atomic_load_explicit(&pipe->nr_taken, memory_order_acquire) == ROOM)
		sched_yield();
	pipe->block[nr % ROOM] = block;
	atomic_store_explicit(&pipe->nr_put, nr + 1, memory_order_release);
}

static NOINLINE void descend(struct pipe *pipe, unsigned int level, unsigned long nr,
			     uint64_t random)
{
	if (level == 0)
		put(pipe, nr, random);
	else
		descend(pipe, level - 1, nr, random);
	__asm__ volatile("" ::: "memory");
}

static void *produce(void *argument)
{
	struct pipe *pipe = argument;

	for (unsigned long nr = 0; nr < nr_blocks; nr++) {
		uint64_t random = next_random(pipe);

		descend(pipe, DEPTH + (random & 3), nr, random);
	}
	return NULL;
}

static void *consume(void *argument)
{
	struct pipe *pipe = argument;

	for (unsigned long nr = 0; nr < nr_blocks; nr++) {
		while (atomic_load_explicit(&pipe->nr_put, memory_order_acquire) == nr)
			sched_yield();
		free(pipe->block[nr % ROOM]);
		atomic_store_explicit(&pipe->nr_taken, nr + 1, memory_order_release);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct pipe pipes[32];
	pthread_t threads[64];

	if (argc > 1)
		nr_blocks = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		nr_pairs = strtoul(argv[2], NULL, 0);
	if (nr_pairs == 0 || nr_pairs > 32) {
		fputs("usage: bench_pass [BLOCKS [PAIRS]]\n", stderr);
		return 64;
	}
	for (unsigned long i = 0; i < nr_pairs; i++) {
		pipes[i].random = (2 * i + 1) * 88172645463325252u;
		pthread_create(&threads[2 * i], NULL, produce, &pipes[i]);
		pthread_create(&threads[2 * i + 1], NULL, consume, &pipes[i]);
	}
	for (unsigned long i = 0; i < 2 * nr_pairs; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
