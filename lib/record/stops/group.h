/* SPDX-License-Identifier: MIT */
/*
 * group - a process and its threads, looked at again and again for those that use CPU time.
 *
 *	struct group *group = group_new(pid);
 *
 *	switch (group_look(group)) {
 *	case GROUP_ENDED:	group_free(group); break;
 *	case GROUP_IDLE:	break;			// no thread has run since the last look
 *	case GROUP_BUSY:	group_list(group);	// threads that are new are at the end
 *	}
 *
 * A process at rest costs a system call, however many threads it has.
 *
 *	group_arm(group, cpu_ns);	// a signal to this thread when it has used so much more
 *	group_has_fired(group);		// it has
 */
#ifndef RECORD_STOPS_GROUP_H
#define RECORD_STOPS_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "record/stops/call_ends.h"
#include "record/stops/task.h"

struct group_thread {
	struct task task;
	struct group *group;
	char name[64];	     /* as it was last seen; "": not yet */
	struct task_use use; /* at the last look */
	uint64_t asked_ns;   /* when we woke up to stop it */
	uint64_t charged_ns; /* of which so much was charged to samples */
	struct call_thread calls;
	bool is_over; /* it has ended, and waits for its parent or the other threads */
	bool is_new;  /* it has not been charged anything yet, and started while we looked */
};

struct group {
	pid_t pid;
	uint64_t program;   /* see task.h; 0: not looked at yet */
	uint64_t former;    /* what it, or whoever forked it, ran before that; 0: nothing known */
	uint64_t mapped_ns; /* when its mappings were read; 0: not yet */
	uint64_t fruitless_ns; /* when that told nothing new */
	struct group_threads {
		struct group_thread **at;
		size_t nr, room;
	} threads;
	unsigned long nr_listed; /* links of the folder when it was listed; 0: list again */
	/* ... and what only group.c looks at. */
	clockid_t clock;
	uint64_t used_ns;
	unsigned int looks;
	timer_t timer;
	bool has_timer;
};

enum group_state {
	GROUP_ENDED,
	GROUP_IDLE,
	GROUP_BUSY,
};

/* Without threads, until it is listed. */
struct group *group_new(pid_t pid);
void group_free(struct group *group);

enum group_state group_look(struct group *group);

/*
 * A timer of ours on the CPU time of the process.  The kernel looks at it when its clock ticks on
 * the CPU of one of the threads: so that one runs when it fires, or did until we got its CPU.
 * Then the calling thread gets STOPS_SIGNAL.
 */
void group_arm(struct group *group, uint64_t cpu_ns);
/* Or was never armed, or cannot be. */
bool group_has_fired(const struct group *group);

/* Adds threads that are not known yet, when their number says that there may be some.  -EMFILE:
 * too many files are open to look at all of them. */
int group_list(struct group *group);
/* It is freed. */
void group_remove(struct group *group, struct group_thread *thread);

#endif
