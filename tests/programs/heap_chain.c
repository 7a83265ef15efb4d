/* SPDX-License-Identifier: MIT */
/*
 * heap_chain STEP... - does what its arguments say, one after another; all sizes in bytes.
 *
 *	keep=N	allocates N and never frees it
 *	pass=N	allocates N and frees it
 *	hold=N	allocates N, sleeps for 150 ms and frees it
 *	child	forks; the child executes the rest of the steps, the parent waits, and ends
 *	spawn=N	forks and executes "heap_chain keep=N", and waits
 *	exec	executes the rest of the steps in place of itself
 *	kill	kills itself with SIGKILL
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

static void keep(size_t size)
{
	kept = malloc(size);
}

static void pass(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : "+r"(p));
	free(p);
}

static void hold(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : "+r"(p));
	usleep(150000);
	free(p);
}

static void execute(char **argv)
{
	execvp(argv[0], argv);
	_exit(1);
}

static void child(char **argv)
{
	pid_t pid = fork();

	if (!pid)
		execute(argv);
	waitpid(pid, NULL, 0);
}

static void spawn(char *argv0, const char *size)
{
	static char step[64] = "keep=";
	char *argv[] = { argv0, step, NULL };

	strncat(step, size, 32);
	child(argv);
	step[5] = '\0';
}

static size_t number(const char *step)
{
	return strtoul(strchr(step, '=') + 1, NULL, 10);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *step = argv[i];

		argv[i] = argv[0]; /* of what is executed from here on */
		if (!strncmp(step, "keep=", 5))
			keep(number(step));
		else if (!strncmp(step, "pass=", 5))
			pass(number(step));
		else if (!strncmp(step, "hold=", 5))
			hold(number(step));
		else if (!strncmp(step, "spawn=", 6))
			spawn(argv[0], step + 6);
		else if (!strcmp(step, "exec"))
			execute(argv + i);
		else if (!strcmp(step, "kill"))
			kill(getpid(), SIGKILL);
		else if (!strcmp(step, "child")) {
			child(argv + i);
			return 0;
		} else
			return 1;
	}
	return 0;
}
