/* SPDX-License-Identifier: MIT */
/*
 * task - a thread of another process: what /proc tells of it, for little.
 *
 *	if (task_open(&task, pid, tid) < 0)
 *		return;				// it has ended, or too many files are open
 *	if (task_used(&task, &used_ns) < 0 || task_look(&task, &look) < 0)
 *		it_has_ended(&task);
 *	task_close(&task);
 *
 * The files are opened once; they are those of this thread even if its tid is used again.
 */
#ifndef RECORD_STOPS_TASK_H
#define RECORD_STOPS_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct task {
	pid_t pid, tid;
	int used_fd, look_fd;
};

struct task_look {
	char name[64];	    /* comm */
	char state;	    /* 'R': runs, or waits for a CPU only */
	uint64_t kernel_ns; /* CPU time in the kernel, by its clock's ticks */
	uint64_t program;   /* another number after an exec, by where things are; 0: not known */
};

/* -errno. */
int task_open(struct task *task, pid_t pid, pid_t tid);
void task_close(struct task *task);

struct task_use {
	/* CPU time, user's and kernel's.  While the thread runs it is as of the last tick of the
	 * kernel's clock, some milliseconds ago; once it is stopped, exact. */
	uint64_t used_ns;
	uint64_t waited_ns; /* for a CPU, until it last got one */
	uint64_t turns;	    /* how often it got one: the same as before, it kept it */
};

/* All is 0 where the kernel does not tell. */
int task_used(const struct task *task, struct task_use *use);
/* 3 us, thrice what the other costs. */
int task_look(const struct task *task, struct task_look *look);

/* Who traces it; 0: nobody, or it has ended. */
pid_t task_tracer(const struct task *task);

/* Whether this kernel tells of CPU time and of children. */
bool task_use_is_told(void);
bool task_children_are_told(void);

struct task_pids {
	pid_t *at;
	size_t nr, room;
};

/* Appends the processes that this thread has started and that are there. */
void task_children(const struct task *task, struct task_pids *children);

#endif
