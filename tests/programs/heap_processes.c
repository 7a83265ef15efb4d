/* SPDX-License-Identifier: MIT */
// PFLAGS: -fno-builtin
/*
 * heap_processes - makes processes in every way there is.
 *
 *	heap_processes leaf N		allocates N blocks, frees none
 *	heap_processes HOW		makes a process that executes `leaf 7`, after 5 blocks of
 *					its own: see `ways`; `threads` forks while other threads
 *					allocate
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *self;
static char *arguments[] = { NULL, "leaf", "7", NULL };
static char *bare[] = { "PATH=/usr/bin:/bin", NULL };
static _Atomic int stop;

static void allocate(int nr)
{
	while (nr--)
		if (!malloc(1000))
			exit(3);
}

static int wait_for(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int go_on(pid_t pid)
{
	if (!pid) {
		free(malloc(10));
		execv(self, arguments);
		_exit(101);
	}
	return wait_for(pid);
}

static int by_fork(void)
{
	return go_on(fork());
}

/* Without the handlers of pthread_atfork(). */
static int by_bare_fork(void)
{
	return go_on(_Fork());
}

/* Behind libc's back. */
static int by_clone(void)
{
	return go_on((pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L));
}

static int by_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execve(self, arguments, bare);
		_exit(101);
	}
	return wait_for(pid);
}

static int by_bare_exec(void)
{
	pid_t pid = fork();

	if (!pid) {
		close_range(3, ~0u, 0);
		clearenv();
		execlp(self, self, "leaf", "7", NULL);
		_exit(101);
	}
	return wait_for(pid);
}

static int by_execle(void)
{
	pid_t pid = fork();

	if (!pid) {
		execle(self, self, "leaf", "7", NULL, bare);
		_exit(101);
	}
	return wait_for(pid);
}

static int by_fexecve(void)
{
	int fd = open(self, O_RDONLY | O_CLOEXEC);
	pid_t pid = fork();

	if (!pid) {
		fexecve(fd, arguments, bare);
		_exit(101);
	}
	return wait_for(pid);
}

static int by_execveat(void)
{
	pid_t pid = fork();

	if (!pid) {
		execveat(AT_FDCWD, self, arguments, bare, 0);
		_exit(101);
	}
	return wait_for(pid);
}

static int by_spawn(void)
{
	pid_t pid;

	return posix_spawn(&pid, self, NULL, NULL, arguments, bare) ? 102 : wait_for(pid);
}

static int by_spawnp(void)
{
	pid_t pid;

	return posix_spawnp(&pid, self, NULL, NULL, arguments, environ) ? 102 : wait_for(pid);
}

static int by_system(void)
{
	char command[4096];

	snprintf(command, sizeof(command), "exec env -i '%s' leaf 7", self);
	return WEXITSTATUS(system(command));
}

static int by_exec(void)
{
	execve("/nonexistent", arguments, environ);
	execvpe(self, arguments, bare);
	return 101;
}

/* A child that goes on, and one of its own. */
static int by_fork_only(void)
{
	pid_t pid = fork();

	if (!pid) {
		allocate(100);
		pid = fork();
		if (!pid) {
			allocate(100);
			execv(self, arguments);
		}
		_exit(wait_for(pid));
	}
	return wait_for(pid);
}

static void *churn(void *arg)
{
	while (!stop)
		free(malloc(100));
	return arg;
}

static int by_threads(void)
{
	pthread_t threads[4];
	int result = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (int i = 0; i < 50 && !result; i++)
		result = by_fork();
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return result;
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{ "fork", by_fork },	      { "vfork", by_vfork },	   { "bare", by_bare_exec },
	{ "execle", by_execle },      { "fexecve", by_fexecve },   { "spawn", by_spawn },
	{ "spawnp", by_spawnp },      { "system", by_system },	   { "exec", by_exec },
	{ "forkonly", by_fork_only }, { "threads", by_threads },   { "_Fork", by_bare_fork },
	{ "clone", by_clone },	      { "execveat", by_execveat },
};

int main(int argc, char **argv)
{
	self = arguments[0] = realpath("/proc/self/exe", NULL);
	if (argc > 2 && !strcmp(argv[1], "leaf")) {
		allocate(atoi(argv[2]));
		return 0;
	}
	allocate(5);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run();
	return 2;
}
