/* SPDX-License-Identifier: MIT */
/*
 * stat - counts events over runs of programs, and compares them.
 *
 *	struct stat_config config = {
 *		.commands = (char *const *[]){ argv }, .nr_commands = 1, .runs = 1,
 *	};
 *	struct stat_result result;
 *
 *	ret = stat_measure(&result, &config, &err);
 *	if (!ret)
 *		stat_views[STAT_TEXT].print(&result, 0, stderr);
 *	status = result.status;
 *	stat_result_release(&result);
 *
 * Hardware events are counted in as few groups as the PMU has room for, each with cycles and
 * instructions in it; software events and resource usage always.  Nothing is sampled and nothing
 * happens in the program.  An event that cannot be counted is in the result with the reason.
 * Several commands take turns, so that what changes on the machine meanwhile meets all of them.
 * When somebody asks for the end, no further run is begun, and of several runs the one that this
 * broke off counts for nothing.
 * Processes that run already are one "command", without arguments.
 */
#ifndef STAT_STAT_H
#define STAT_STAT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/stats.h"
#include "base/welch.h"
#include "store/profile.h"

struct stat_result;
struct stat_interval;

struct stat_config {
	char *const *const *commands; /* each a program and its arguments, a NULL at the end */
	size_t nr_commands;
	const pid_t *attach; /* instead of commands: count in these processes, which run already */
	size_t nr_attach;
	int64_t duration_ns; /* of that; 0: until all have ended */
	unsigned int runs;   /* of each command */
	unsigned int warmup; /* runs before these, which are not counted */
	const char *events;  /* a list for event_types_parse(); NULL: the four of a recording */
	bool full_pmu;	     /* ... and all generic hardware events besides */

	unsigned int interval_ms; /* 0: none */
	void (*on_interval)(void *context, const struct stat_result *result,
			    const struct stat_interval *interval);
	void *context;
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

struct stat_command {
	char *const *arguments; /* the config's; of processes that run already none */
	struct stat_process {
		int pid;
		char name[64];
	} * processes; /* those */
	size_t nr_processes;
	unsigned int runs; /* that count */
	bool left_running;
	int pid; /* of the last run */

	int exit_status; /* of the last run that failed, else 0; -1: ended by signal */
	int signal;	 /* of that run; 0: none */

	struct stats wall_s;
	struct stat_event *events; /* nr_events of the result, in the same order for all */
	double ipc;		   /* NaN: not known */
};

/* What was counted since the interval before. */
struct stat_interval {
	size_t command;
	unsigned int run; /* from 0 */
	double time_s;	  /* its end, since the program was started */
	struct stat_count {
		double value;	 /* NaN: not counted, or not known before the end */
		double coverage; /* 0..1 */
	} * counts;		 /* nr_events */
};

/* An event's means of the first command and another. */
struct stat_difference {
	size_t command;
	const char *name, *unit; /* "wall-time" too */
	double first, second;
	struct welch welch;
};

struct stat_result {
	struct stat_command *commands;
	size_t nr_commands, nr_events;
	bool user_only;	   /* hardware events counted outside the kernel only */
	unsigned int runs; /* of each command, as asked for */
	int stopped_by;	   /* the signal by which somebody asked for the end; 0: nobody did */
	int status;	   /* what cprof exits with: of the last run that failed */

	struct stat_interval *intervals;
	size_t nr_intervals;
	struct stat_difference *differences;
	size_t nr_differences;

	struct stat_plan *plan; /* what was to be counted; stat's own */
};

/*
 * Negative when a program could not be run; result->status then is what a shell would return
 * (125, 126, 127).  The result is to be released in any case.
 */
int stat_measure(struct stat_result *result, const struct stat_config *config, struct error *err);
void stat_result_release(struct stat_result *result);

/* Whether the means differ by more than chance explains (at 95 %). */
bool stat_is_significant(const struct stat_difference *difference);

/* Ways to write a result.  Failure to write shows in ferror(out). */
struct stat_view {
	const char *name;
	/* As it passes; NULL: with the result. */
	void (*interval)(const struct stat_result *result, const struct stat_interval *interval,
			 FILE *out);
	/* width: of text, in columns; 0: 80, and tables as wide as they get. */
	void (*print)(const struct stat_result *result, size_t width, FILE *out);
};

enum { STAT_TEXT, STAT_JSON, STAT_CSV, STAT_NR_VIEWS };
extern const struct stat_view stat_views[STAT_NR_VIEWS];

#endif
