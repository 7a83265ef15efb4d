/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * heap_signals - allocates in signal handlers, at any moment; some handlers never return.
 *
 *	heap_signals MODE		return: handlers return
 *					alt: on a stack of their own
 *					jump: each third jumps out
 *
 * To be run with heap_bump, which lets handlers allocate.  Prints what has to be counted:
 * allocations and frees.  With `jump` a call that a handler left may or may not count, so that is
 * printed too.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static _Atomic unsigned long allocations, frees, handled, jumped;
static int may_jump;
static sigjmp_buf back;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void handler(int number)
{
	void *block = malloc(32);

	(void)number;
	allocations++;
	handled++;
	free(block);
	frees++;
	if (may_jump && handled % 3 == 0) {
		jumped++;
		siglongjmp(back, 1);
	}
}

static __attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 50; i++) {
		void *block = malloc(64);

		allocations++;
		free(block);
		frees++;
		block = calloc(4, 4);
		allocations++;
		free(realloc(block, 100));
		frees++;
	}
}

int main(int argc, char **argv)
{
	static char alt[65536];
	stack_t stack = { .ss_sp = alt, .ss_size = sizeof(alt) };
	struct sigaction action = { .sa_handler = handler };
	struct itimerval timer = { { 0, 300 }, { 0, 300 } };
	const char *mode = argc > 1 ? argv[1] : "return";
	double end = seconds() + 1.0;
	char line[128];

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(mode, "alt")) {
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	sigsetjmp(back, 1);
	may_jump = !strcmp(mode, "jump");
	while (seconds() < end)
		work();
	timer = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &timer, NULL);
	int length = snprintf(line, sizeof(line), "%lu %lu %lu %lu\n", allocations, frees, handled,
			      jumped);

	fwrite(line, 1, (size_t)length, stdout);
	return 0;
}
