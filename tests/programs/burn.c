// SPDX-License-Identifier: MIT
// PFLAGS: -fno-ipa-icf
/*
 * burn [MS]: computes for about MS milliseconds of CPU time (1000), 70 % of the steps in seventy(),
 * 30 % in thirty().  Prints how far it came, exits with 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 10000

static volatile double sink;

static __attribute__((noinline)) void seventy(long rounds)
{
	double x = sink;

	for (long i = 0; i < rounds; i++)
		x = x * 1.0000001 + 0.1;
	sink = x;
}

static __attribute__((noinline)) void thirty(long rounds)
{
	double x = sink;

	for (long i = 0; i < rounds; i++)
		x = x * 1.0000001 + 0.1;
	sink = x;
}

static long used_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long until = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	long rounds = 0;

	for (; used_ms() < until; rounds++) {
		seventy(70 * STEPS);
		thirty(30 * STEPS);
	}
	printf("done\n");
	return 3;
}
