/* SPDX-License-Identifier: MIT */
/*
 * stat - counts events over runs of a program.
 *
 *	struct stat_config config = { .arguments = argv, .runs = 1 };
 *	struct stat_result result;
 *
 *	ret = stat_measure(&result, &config, &err);
 *	if (!ret)
 *		stat_views[STAT_TEXT].print(&result, stderr);
 *	status = result.status;
 *	stat_result_release(&result);
 *
 * Hardware events are counted in as few groups as the PMU has room for, each with cycles and
 * instructions in it; software events and resource usage always.  Nothing is sampled and nothing
 * happens in the program.  An event that cannot be counted is in the result with the reason.
 */
#ifndef STAT_STAT_H
#define STAT_STAT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/stats.h"
#include "store/profile.h"

struct stat_config {
	char *const *arguments; /* the program and its arguments, a NULL at the end */
	unsigned int runs;
	bool full_pmu; /* all generic hardware events, not only the four of a recording */
};

struct stat_event {
	const char *name;
	const char *unit;	    /* "cycles", "ns", "s", "bytes", "" for plain counts */
	enum profile_status status; /* the worst of the runs */
	char *reason;		    /* why not, or where the value comes from instead; NULL */
	struct stats value;	    /* of the runs in which it counted */
	double coverage;	    /* share of the time in which it counted, 0..1 */
	double per_1k_instructions; /* in the same windows; NaN: not known */
	double ratio;		    /* to ratio_of, in the same windows; NaN: not known */
	const char *ratio_of;	    /* an event ("branches" for branch-misses), "wall-time"; NULL */
};

struct stat_result {
	char *const *arguments; /* the config's */
	unsigned int runs;
	bool user_only; /* hardware events counted outside the kernel only */
	bool left_running;
	int pid; /* of the last run */

	int exit_status; /* of the last run that failed, else 0; -1: ended by signal */
	int signal;	 /* of that run; 0: none */
	int status;	 /* what cprof exits with */

	struct stats wall_s;
	struct stat_event *events;
	size_t nr_events;
	double ipc; /* NaN: not known */
};

/*
 * Negative when the program could not be run; result->status then is what a shell would return
 * (125, 126, 127).  The result is to be released in any case.
 */
int stat_measure(struct stat_result *result, const struct stat_config *config, struct error *err);
void stat_result_release(struct stat_result *result);

/* Ways to write a result.  Failure to write shows in ferror(out). */
struct stat_view {
	const char *name;
	void (*print)(const struct stat_result *result, FILE *out);
};

enum { STAT_TEXT, STAT_JSON, STAT_NR_VIEWS };
extern const struct stat_view stat_views[STAT_NR_VIEWS];

#endif
