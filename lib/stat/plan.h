/* SPDX-License-Identifier: MIT */
/*
 * plan - all that is counted, in the order in which it is shown.
 *
 *	stat_plan_make(&plan, list, full_pmu, &err);
 *	plan.nr events:
 *		stat_plan_describe(plan, i, &event);
 *	for each run {
 *		stat_plan_open(plan, &threads);
 *		...
 *		stat_plan_close(plan, &usage, tallies);
 *	}
 *	stat_plan_result(plan, i, &tallies[i], &event);
 *	stat_plan_free(plan);
 *
 * First come the events asked for, then what of the kernel's own counts and of resource usage was
 * not among them: those are free, and always there.
 */
#ifndef STAT_PLAN_H
#define STAT_PLAN_H

#include "record/target/attach.h"
#include "stat/counters.h"
#include "stat/software.h"

struct stat_plan {
	struct access access;
	struct event_types types;   /* asked for */
	struct event_types counted; /* of them by counters; names are those of types */
	struct counters counters;
	struct software software;
	size_t *order; /* below counters.nr a counter, from there on an enum software_event */
	size_t nr;
};

int stat_plan_make(struct stat_plan **plan, const char *list, bool full_pmu, struct error *err);
void stat_plan_open(struct stat_plan *plan, const struct group_threads *threads);
/* Counts from now on, in all threads of processes that run already. */
int stat_plan_attach(struct stat_plan *plan, const struct attach *attach, struct error *err);
/* Adds what was counted to plan->nr tallies.  usage: NULL: not known. */
void stat_plan_close(struct stat_plan *plan, const struct usage *usage, struct tally *tallies);
/* Instead: what was counted does not matter. */
void stat_plan_discard(struct stat_plan *plan);
/* Fills in plan->nr counts, of the time since the last call. */
void stat_plan_interval(struct stat_plan *plan, struct stat_count *counts);

void stat_plan_describe(const struct stat_plan *plan, size_t i, struct stat_event *event);
void stat_plan_result(const struct stat_plan *plan, size_t i, const struct tally *tally,
		      struct stat_event *event);
void stat_plan_free(struct stat_plan *plan);

#endif
