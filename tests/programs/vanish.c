// SPDX-License-Identifier: MIT
/*
 * vanish [FILE]: before it does anything else it removes its own file, or puts FILE in its place.
 * Then it computes for about 150 ms of CPU time in work() and leaks 1234 bytes in forget().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;
static void *volatile kept;

static __attribute__((noinline)) void work(long rounds)
{
	double x = sink;

	for (long i = 0; i < rounds; i++)
		x = x * 1.0000001 + 0.1;
	sink = x;
}

static __attribute__((noinline)) void forget(void)
{
	kept = malloc(1234);
	memset(kept, 1, 1234);
}

static long used_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	if (argc > 1 ? rename(argv[1], argv[0]) : unlink(argv[0]))
		return 1;
	forget();
	while (used_ms() < 150)
		work(1000000);
	return 0;
}
