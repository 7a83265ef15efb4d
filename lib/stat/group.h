/* SPDX-License-Identifier: MIT */
/*
 * group - perf events counted in the same windows, over threads and all they start.
 *
 *	struct group_threads threads = { &launch.pid, 1, GROUP_FROM_EXEC };
 *
 *	if (group_open(&group, types, nr, &threads, user_only) < 0)
 *		...
 *	group_read(&group, &counts);	// any time, also after the program has ended
 *	group_close(&group);
 *
 * Counts with cpu = -1 and inherit: the only way in which enabled and running time tell how much
 * of the program was seen (per-CPU counts of a task cannot be scaled: a task that moves is
 * "enabled" wherever it runs).
 */
#ifndef STAT_GROUP_H
#define STAT_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/events/event_type.h"
#include "stat/grouping.h"

struct group {
	int *fds;  /* nr of each thread, one after the other */
	size_t nr; /* members; 0: not open */
	size_t nr_threads;
};

struct group_counts {
	uint64_t enabled_ns, running_ns;
	uint64_t values[GROUPING_MAX_MEMBERS];
};

enum group_start {
	GROUP_FROM_EXEC, /* of the process, by which it becomes the program */
	GROUP_STOPPED,	 /* until group_enable() */
};

struct group_threads {
	const pid_t *at;
	size_t nr;
	enum group_start start;
};

/* To try something: the calling thread, stopped. */
extern const struct group_threads group_here;

/* The first type leads.  0 or -errno; leaves nothing open on failure.  Threads that have ended are
 * left out: -ESRCH if that are all. */
int group_open(struct group *group, const struct event_type *const *types, size_t nr,
	       const struct group_threads *threads, bool user_only);
void group_enable(struct group *group);
/* Of all threads together.  0 or -errno. */
int group_read(const struct group *group, struct group_counts *counts);
void group_close(struct group *group);

/* Whether these would be scheduled on the counters, now: tried for a moment on this thread. */
bool group_schedulable(const struct event_type *const *types, size_t nr, bool user_only);

#endif
