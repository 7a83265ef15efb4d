// SPDX-License-Identifier: MIT
/* threads [MS]: two threads, "one" and "two", burn MS (300) and 2 MS milliseconds of CPU time each.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static volatile long sink[2];

static __attribute__((noinline)) void spin(long ms, volatile long *at)
{
	struct timespec used;

	do {
		for (int i = 0; i < 100000; i++)
			*at += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < ms);
}

static long ms = 300;

static void *one(void *unused)
{
	pthread_setname_np(pthread_self(), "one");
	spin(ms, &sink[0]);
	return unused;
}

static void *two(void *unused)
{
	pthread_setname_np(pthread_self(), "two");
	spin(2 * ms, &sink[1]);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc > 1)
		ms = atol(argv[1]);
	if (pthread_create(&threads[0], NULL, one, NULL) ||
	    pthread_create(&threads[1], NULL, two, NULL))
		return 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
