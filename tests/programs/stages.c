// SPDX-License-Identifier: MIT
/*
 * stages MS: does what it is told, a line a stage, so that it can be attached to in between.  Each
 * stage burns MS milliseconds of CPU time in a function of its own and then says so.
 *
 *	before	a thread that has been there from the start
 *	after	a thread that is started now
 *	child	a process that is started now
 *	main	the main thread
 *
 * The factors differ so that the compiler does not make one function of all.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int milliseconds;
static volatile uint64_t sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static int wanted, done;

#define BURN(name, factor)                                             \
	static __attribute__((noinline)) void name(void)               \
	{                                                              \
		struct timespec used;                                  \
		double from, now;                                      \
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);         \
		from = used.tv_sec * 1e3 + used.tv_nsec / 1e6;         \
		do {                                                   \
			for (int i = 0; i < 10000; i++)                \
				sink = sink * factor + (uint64_t)i;    \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); \
			now = used.tv_sec * 1e3 + used.tv_nsec / 1e6;  \
		} while (now - from < milliseconds);                   \
	}

BURN(in_the_thread_before, 3)
BURN(in_the_thread_after, 5)
BURN(in_the_child, 7)
BURN(in_main, 11)

static void *before(void *unused)
{
	prctl(PR_SET_NAME, "before");
	pthread_mutex_lock(&lock);
	for (;;) {
		while (done == wanted)
			pthread_cond_wait(&told, &lock);
		pthread_mutex_unlock(&lock);
		in_the_thread_before();
		pthread_mutex_lock(&lock);
		done++;
		pthread_cond_broadcast(&told);
	}
	return unused;
}

static void tell_before(void)
{
	pthread_mutex_lock(&lock);
	wanted++;
	pthread_cond_broadcast(&told);
	while (done != wanted)
		pthread_cond_wait(&told, &lock);
	pthread_mutex_unlock(&lock);
}

static void *after(void *unused)
{
	prctl(PR_SET_NAME, "after");
	in_the_thread_after();
	return unused;
}

static void run(const char *stage)
{
	pthread_t thread;

	if (!strcmp(stage, "before\n")) {
		tell_before();
	} else if (!strcmp(stage, "after\n")) {
		pthread_create(&thread, NULL, after, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(stage, "child\n")) {
		pid_t child = fork();

		if (!child) {
			in_the_child();
			_exit(0);
		}
		waitpid(child, NULL, 0);
	} else if (!strcmp(stage, "main\n")) {
		in_main();
	}
	printf("%s", stage);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char stage[32];
	pthread_t thread;

	milliseconds = argc > 1 ? atoi(argv[1]) : 300;
	pthread_create(&thread, NULL, before, NULL);
	printf("ready\n");
	fflush(stdout);
	while (fgets(stage, sizeof(stage), stdin))
		run(stage);
	return 4;
}
