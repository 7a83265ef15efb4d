/* SPDX-License-Identifier: MIT */
/*
 * software - the kernel's own counts and the resource usage of a run.
 *
 *	software_plan(&software, &access);
 *	for each run {
 *		software_open(&software, &threads);
 *		...
 *		software_close(&software, &usage, tallies);
 *	}
 *	software_result(&software, i, tallies[i], &event);
 *	software_release(&software);
 *
 * Where perf is refused, or counts only what happens outside the kernel (which for faults and
 * switches is wrong), the figures of getrusage(2) stand in: the same counts, of the program and
 * what it waited for; for the task-clock user and system time together.  CPU migrations have no
 * such stand-in.  Of processes that run already /proc has most of that too.
 */
#ifndef STAT_SOFTWARE_H
#define STAT_SOFTWARE_H

#include "record/events/access.h"
#include "stat/group.h"
#include "stat/tally.h"
#include "stat/usage.h"

enum software_event {
	SOFTWARE_TASK_CLOCK,
	SOFTWARE_PAGE_FAULTS,
	SOFTWARE_MINOR_FAULTS,
	SOFTWARE_MAJOR_FAULTS,
	SOFTWARE_CONTEXT_SWITCHES,
	SOFTWARE_CPU_MIGRATIONS,
	SOFTWARE_USER_TIME,
	SOFTWARE_SYSTEM_TIME,
	SOFTWARE_MAX_RSS,
	SOFTWARE_NR
};

struct software {
	struct group group;
	struct group_counts counts, before;
	bool by_perf;	/* perf counts these, kernel included */
	bool has_clock; /* perf counts the task-clock at least */
	bool no_usage;	/* there was none */
	bool from_proc; /* that is where it was from */
	char *why_not;	/* perf does not */
	enum profile_status refused;
};

void software_plan(struct software *software, const struct access *access);
void software_open(struct software *software, const struct group_threads *threads);
void software_enable(struct software *software); /* of stopped threads */
void software_read(struct software *software);
/* Adds to SOFTWARE_NR tallies.  usage: NULL: nobody tells it. */
void software_close(struct software *software, const struct usage *usage,
		    struct tally *const *tallies);

/* As of the last software_read(), since the last software_mark(); false: not known before the
 * end. */
bool software_since_mark(const struct software *software, enum software_event event,
			 struct reading *reading);
void software_mark(struct software *software);

/* Name and unit are always known, the rest with a tally of runs.  The reason is the caller's. */
void software_describe(enum software_event event, struct stat_event *result);
void software_result(const struct software *software, enum software_event event,
		     const struct tally *tally, struct stat_event *result);

/* Which of these a type is, modifiers included; -1. */
int software_find(const struct event_type *type);
void software_release(struct software *software);

#endif
