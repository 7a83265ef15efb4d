// SPDX-License-Identifier: MIT
/*
 * bench_cpu [ROUNDS [THREADS]] - a CPU-heavy program for scripts/bench: calls, floating point, a
 * sort and branches, below a recursion 36 frames deep, without frame pointers.  A round takes about
 * a millisecond.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))
#define SIZE 96
#define NUMBERS 10000

struct work {
	double a[SIZE][SIZE], b[SIZE][SIZE], product[SIZE][SIZE];
	uint32_t numbers[NUMBERS];
	uint64_t random;
	volatile unsigned int sink;
};

static unsigned int rounds = 1000;

static NOINLINE unsigned int fibonacci(unsigned int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static NOINLINE void multiply(struct work *work)
{
	for (int i = 0; i < SIZE; i++) {
		for (int j = 0; j < SIZE; j++) {
			double sum = 0;

			for (int k = 0; k < SIZE; k++)
				sum += work->a[i][k] * work->b[k][j];
			work->product[i][j] = sum;
		}
	}
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static NOINLINE void sort(struct work *work)
{
	for (int i = 0; i < NUMBERS; i++) {
		work->random = work->random * 6364136223846793005u + 1442695040888963407u;
		work->numbers[i] = (uint32_t)(work->random >> 33);
	}
	qsort(work->numbers, NUMBERS, sizeof(work->numbers[0]), by_value);
}

static NOINLINE void descend(struct work *work, unsigned int level, unsigned int round)
{
	if (level > 0)
		descend(work, level - 1, round);
	else if (round % 3 == 0)
		work->sink += fibonacci(23);
	else if (round % 3 == 1)
		multiply(work);
	else
		sort(work);
	__asm__ volatile("" ::: "memory");
}

static void *run(void *unused)
{
	struct work *work = calloc(1, sizeof(*work));

	(void)unused;
	for (int i = 0; i < SIZE; i++) {
		for (int j = 0; j < SIZE; j++) {
			work->a[i][j] = i * 0.5;
			work->b[i][j] = j * 0.25;
		}
	}
	for (unsigned int round = 0; round < rounds; round++)
		descend(work, 36, round);
	free(work);
	return NULL;
}

int main(int argc, char **argv)
{
	int nr_threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t threads[64];

	if (argc > 1)
		rounds = (unsigned int)strtoul(argv[1], NULL, 0);
	if (nr_threads < 1 || nr_threads > 64) {
		fputs("usage: bench_cpu [ROUNDS [THREADS]]\n", stderr);
		return 64;
	}
	if (nr_threads == 1) {
		run(NULL);
		return 0;
	}
	for (int i = 0; i < nr_threads; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
