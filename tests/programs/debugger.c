// SPDX-License-Identifier: MIT
/*
 * debugger [MS]: traces a child, which burns MS milliseconds of CPU time (300) in traced(), and
 * then burns as many itself in tracing().  Prints how often the child stopped, and passes on its
 * exit status, 7.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;

static long used_ms(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static __attribute__((noinline)) void traced(long until)
{
	while (used_ms() < until)
		for (int i = 0; i < 100000; i++)
			sink = sink * 1.0000001 + 0.1;
}

static __attribute__((noinline)) void tracing(long until)
{
	while (used_ms() < until)
		for (int i = 0; i < 100000; i++)
			sink = sink * 1.0000002 + 0.2;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 300;
	int status, stops = 0;
	pid_t child = fork();

	if (!child) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(1);
		raise(SIGUSR1);
		traced(ms);
		_exit(7);
	}
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		stops++;
		ptrace(PTRACE_CONT, child, NULL, NULL);
	}
	tracing(ms);
	printf("stopped %d times\n", stops);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
