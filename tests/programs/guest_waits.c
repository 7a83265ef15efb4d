/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * guest_waits - threads that are cancelled while they wait for a child, by each function that can.
 *
 * The first child does not end before all of them are done.  Each thread allocates and frees a
 * block of 1000 bytes when it is cancelled.  Prints how many were, and how many cleaned up.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define noinline __attribute__((noipa))

static pid_t child;
static int cleaned;

static noinline void clean_up(void *unused)
{
	free(malloc(1000));
	cleaned++;
	(void)unused;
}

static void by_waitpid(void)
{
	waitpid(child, NULL, 0);
}

static void by_waitid(void)
{
	siginfo_t info;

	waitid(P_PID, (id_t)child, &info, WEXITED);
}

static void by_wait(void)
{
	wait(NULL);
}

static void by_wait3(void)
{
	struct rusage usage;

	wait3(NULL, 0, &usage);
}

static void by_wait4(void)
{
	int status;

	wait4(child, &status, 0, NULL);
}

static void by_system(void)
{
	if (system("exec sleep 100"))
		return;
}

static void *work(void *how)
{
	pthread_cleanup_push(clean_up, NULL);
	(*(void (**)(void))how)();
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	static void (*ways[])(void) = { by_waitpid, by_waitid, by_wait,
					by_wait3,   by_wait4,  by_system };
	int cancelled = 0, nr = sizeof(ways) / sizeof(*ways);

	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	for (int i = 0; i < nr; i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, work, &ways[i]);
		usleep(20000); /* mostly it waits by now */
		pthread_cancel(thread);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	kill(child, SIGKILL);
	printf("%d %d %d\n", cancelled, cleaned, waitpid(child, NULL, 0) == child);
	return 0;
}
