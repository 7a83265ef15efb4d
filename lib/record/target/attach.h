/* SPDX-License-Identifier: MIT */
/*
 * attach - processes that run already.
 *
 *	struct attach attach = { 0 };
 *	struct attach_threads threads = { 0 };
 *
 *	if (attach_open(&attach, pids, nr, &err) < 0)	// not there, not ours, of the kernel
 *		return complain(&err);
 *	attach_threads(pid, &threads);			// those that there are now
 *	poll(attach.at[0].fd)				// readable once the process has ended
 *	attach_close(&attach);
 *
 * Nothing here does anything to the processes: see halt.h for what stops them.
 */
#ifndef RECORD_TARGET_ATTACH_H
#define RECORD_TARGET_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct attach_process {
	pid_t pid;
	pid_t thread; /* one that lives: /proc tells nothing of a main thread that has ended */
	int fd;	      /* a pidfd */
	char name[64];
};

struct attach {
	struct attach_process *at;
	size_t nr, room;
};

/*
 * A pid may be that of any thread of a process and be there twice.  The error says why a process
 * cannot be sampled by us; then nothing stays open.
 */
int attach_open(struct attach *attach, const pid_t *pids, size_t nr, struct error *err);
void attach_close(struct attach *attach);

struct attach_threads {
	pid_t *at;
	size_t nr, room;
};

/* Appends the threads that the process has now: none if it is gone. */
void attach_threads(pid_t pid, struct attach_threads *threads);
/* Likewise of all processes. */
void attach_all_threads(const struct attach *attach, struct attach_threads *threads);
/* Whether these are the threads that they have now, no more and no less. */
bool attach_are_all(const struct attach *attach, const struct attach_threads *threads);

#endif
