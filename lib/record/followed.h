/* SPDX-License-Identifier: MIT */
/*
 * followed - the processes of a recording, found in /proc: what perf's records would tell.
 *
 *	struct followed followed = { .processes = processes, .shim = shim };
 *
 *	followed_begin(&followed, followed_add(&followed, pid));
 *	... now and then, of followed.groups:
 *	followed_list(&followed, group);		// threads that are new
 *	if (followed_look(&followed, thread))		// children, an exec, a name, its end
 *		it_may_run_right_now(thread);
 *	followed_release(&followed);			// modules are open until here
 *
 * Children are at the end of groups, whoever goes through them meets them at once.  processes.h is
 * told of everything as of now.
 */
#ifndef RECORD_FOLLOWED_H
#define RECORD_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "object/module.h"
#include "record/processes.h"
#include "record/stops/group.h"

struct followed {
	struct processes *processes;
	const char *shim;	/* as for image_facts_read() */
	bool is_attached;	/* to what runs already, without the children that it has */
	bool no_inherit;	/* children are not followed */
	struct modules modules; /* of all mappings */
	VEC(struct group *) groups;
	struct map by_pid; /* to struct group; 0: not ours */
	struct map by_tid; /* to struct group_thread */
};

void followed_release(struct followed *followed);

struct group *followed_add(struct followed *followed, pid_t pid);
/* What they have used and started so far is not the recording's. */
void followed_begin(struct followed *followed, struct group *group);
/* groups.at[index], whose process is no longer there. */
void followed_end(struct followed *followed, size_t index);

/* -EMFILE: too many files are open for all of its threads. */
int followed_list(struct followed *followed, struct group *group);
/* True: it has run since it was last looked at, and might do so right now. */
bool followed_look(struct followed *followed, struct group_thread *thread);
/* What a look has shown that was taken by others. */
void followed_use_look(struct followed *followed, struct group_thread *thread,
		       const struct task_look *look);

/* NULL: none, or none any more. */
struct group_thread *followed_thread(const struct followed *followed, pid_t tid);

/* Reads what the process has mapped. */
void followed_map(struct followed *followed, struct group *group, struct process *process);
/* For samples.h: only if that may tell something new. */
bool followed_remap(void *context, struct process *process);

#endif
