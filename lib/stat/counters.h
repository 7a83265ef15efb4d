/* SPDX-License-Identifier: MIT */
/*
 * counters - a list of perf events over runs of programs.
 *
 *	counters_plan(&counters, &types, &access, &err); // tries what can be counted, and together
 *	for each run {
 *		counters_open(&counters, &threads);
 *		...					 // the program runs
 *		counters_read(&counters);		 // as often as one likes
 *		counters_since_start(&counters, i, &reading);
 *		counters_close(&counters);
 *	}
 *	counters_result(&counters, i, &tally, &event);
 *	counters_release(&counters);
 *
 * Once planned nothing here fails: an event that cannot be counted carries its reason.
 */
#ifndef STAT_COUNTERS_H
#define STAT_COUNTERS_H

#include "record/events/access.h"
#include "record/events/event_types.h"
#include "stat/group.h"
#include "stat/grouping.h"
#include "stat/tally.h"

struct counter {
	const struct event_type *type;
	char *partner;	    /* counted in relation to; NULL */
	char *instructions; /* the event of that name which counts the same code */
	enum profile_status status;
	char *reason;
};

struct counters {
	const struct access *access;
	struct counter *at;
	size_t nr;
	bool user_only; /* that is all we are allowed */
	struct grouping groups;
	struct group *open; /* one for each of groups, while a program runs */
	struct group_counts *counts, *before;
};

/* The types have to outlive the counters.  Negative if the list cannot be: too large a group. */
int counters_plan(struct counters *counters, const struct event_types *types,
		  const struct access *access, struct error *err);
void counters_open(struct counters *counters, const struct group_threads *threads);
void counters_enable(struct counters *counters); /* of stopped threads */
void counters_read(struct counters *counters);
void counters_close(struct counters *counters);

/* As of the last counters_read(); false: this event is not counted at all. */
bool counters_since_start(const struct counters *counters, size_t i, struct reading *reading);
/* Since the last counters_mark(). */
bool counters_since_mark(const struct counters *counters, size_t i, struct reading *reading);
void counters_mark(struct counters *counters);

/* Name and unit are known once planned, the rest with a tally of runs.  The reason is the
 * caller's. */
void counters_describe(const struct counters *counters, size_t i, struct stat_event *event);
void counters_result(const struct counters *counters, size_t i, const struct tally *tally,
		     struct stat_event *event);
void counters_release(struct counters *counters);

/* Whether it is hardware events of user code that are counted, for want of privilege. */
bool counters_are_user_only(const struct counters *counters);

#endif
