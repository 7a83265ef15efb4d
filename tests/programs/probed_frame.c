// SPDX-License-Identifier: MIT
// PFLAGS: -fstack-clash-protection
/*
 * probed_frame MS - spends most of its time in touching each page of a frame of 600 kB, which
 * functions with such frames begin with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static __attribute__((noinline)) int large(unsigned int at)
{
	volatile char frame[600000];

	frame[at % sizeof(frame)] = 1;
	return frame[at % sizeof(frame)];
}

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	double end = now_ms() + atof(argc > 1 ? argv[1] : "100");
	unsigned int calls = 0;

	while (now_ms() < end)
		for (int i = 0; i < 1000; i++)
			calls += (unsigned int)large(calls);
	printf("%u calls\n", calls);
	return 0;
}
