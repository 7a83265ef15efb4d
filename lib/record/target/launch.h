/* SPDX-License-Identifier: MIT */
/*
 * launch - starts a program in two steps, so that it can be prepared for in between.
 *
 *	struct launch launch;
 *
 *	launch_fork(&launch, &config, &err);	// the pid is there, the program is not yet
 *	open_events(launch.pid);		// with enable_on_exec
 *	launch_exec(&launch, &err);		// now it runs, or err says why it cannot
 *	waitpid(launch.pid, &status, 0);
 *
 * The program gets what we were started with: standard streams, terminal, process group, limits,
 * signal mask and dispositions; its environment is the config's.  It is found as execvp()
 * does: through PATH, and a script without a "#!" line is run by /bin/sh.
 *
 * A recorder that wants to change its own signals or limits first calls launch_remember().
 */
#ifndef RECORD_TARGET_LAUNCH_H
#define RECORD_TARGET_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"

enum {
	LAUNCH_STATUS_OURS = 125,
	LAUNCH_STATUS_CANNOT_EXECUTE = 126,
	LAUNCH_STATUS_NOT_FOUND = 127,
};

/* What we were started with and the program shall have. */
struct launch_inheritance {
	sigset_t mask;
	struct sigaction on_child, on_pipe, on_file_size;
	struct rlimit files;
};

/* Also raises our limit of open files: each CPU takes some, and so does each file that is mapped.
 */
void launch_remember(struct launch_inheritance *inheritance);
/* Back to what was remembered, in this process; the limit of files not before most are closed. */
void launch_restore_signals(const struct launch_inheritance *inheritance);
void launch_restore(const struct launch_inheritance *inheritance);

/* The path of the program as launch_exec() will find it; NULL: it is a script, or not there. */
char *launch_find_elf(const char *program);

struct launch_config {
	char *const *arguments;	  /* of the program, itself first */
	char *const *environment; /* NULL: ours */
	const struct launch_inheritance *inheritance;
};

struct launch {
	pid_t pid;
	int release_fd; /* what we write to let it go; -1: released */
	int error_fd;	/* where the errno of a failed exec comes from */
	const char *program;
	int status; /* of ours, after launch_exec() failed: 125, 126 or 127 */
};

/* Nothing is started: launch_cancel() has nothing to do. */
void launch_init(struct launch *launch, const char *program);

/* What launch_exec() would say of a program that is not there, or not executable, beforehand. */
int launch_check(struct launch *launch, const char *program, struct error *err);

/* Leaves nothing behind on failure. */
int launch_fork(struct launch *launch, const struct launch_config *config, struct error *err);

/*
 * Lets it go and waits until it executes the program.  When that fails the child is gone and waited
 * for, and launch->status is what a shell would return.
 */
int launch_exec(struct launch *launch, struct error *err);

/* Ends a child that has not been released, and waits for it. */
void launch_cancel(struct launch *launch);

#endif
