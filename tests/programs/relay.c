// SPDX-License-Identifier: MIT
/*
 * relay CHAINS [MS [US [VFORK_MS]]]: as many chains of threads as asked for, each thread of which
 * computes for US microseconds (3000), starts the next one of its chain and ends: threads come and go
 * all the time.  Ends after MS milliseconds (60 s).  Meanwhile the main thread sleeps, or makes one
 * child after the other by vfork(), which takes VFORK_MS each, and prints a line after each.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;
static double end_s, each_s = 3e-3;

static double now_s(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static __attribute__((noinline)) void compute(void)
{
	while (now_s(CLOCK_THREAD_CPUTIME_ID) < each_s)
		for (int i = 0; i < 1000; i++)
			sink = sink * 3 + (uint64_t)i;
}

static void start(void);

static void *run(void *unused)
{
	compute();
	if (now_s(CLOCK_MONOTONIC) < end_s)
		start();
	return unused;
}

static void start(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	pthread_detach(thread);
}

static void wait_in_vfork(int ms)
{
	pid_t child = vfork();

	if (!child) {
		usleep((useconds_t)ms * 1000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	printf("vfork\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int vfork_ms = argc > 4 ? atoi(argv[4]) : 0;

	end_s = now_s(CLOCK_MONOTONIC) + (argc > 2 ? atoi(argv[2]) : 60000) / 1e3;
	if (argc > 3)
		each_s = atoi(argv[3]) / 1e6;
	for (int i = argc > 1 ? atoi(argv[1]) : 1; i--;)
		start();
	printf("ready\n");
	fflush(stdout);
	while (now_s(CLOCK_MONOTONIC) < end_s)
		if (vfork_ms)
			wait_in_vfork(vfork_ms);
		else
			usleep(10000);
	return 0;
}
