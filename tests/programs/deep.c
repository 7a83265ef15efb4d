// SPDX-License-Identifier: MIT
/* deep [DEPTH [MS [secret]]]: burns MS milliseconds (500) in bottom(), below DEPTH (100) frames of
 * down().  With "secret", who may not trace it may not read its memory either.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static volatile long sink;

static __attribute__((noinline)) long bottom(long ms)
{
	struct timespec used;

	do {
		for (int i = 0; i < 100000; i++)
			sink += i;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
	return sink;
}

static __attribute__((noinline, noclone)) long down(int depth, long ms)
{
	return (depth > 1 ? down(depth - 1, ms) : bottom(ms)) + 1;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 100;

	if (argc > 3)
		prctl(PR_SET_DUMPABLE, 0);
	return down(depth, argc > 2 ? atoi(argv[2]) : 500) == 0;
}
