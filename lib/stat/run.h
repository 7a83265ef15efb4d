/* SPDX-License-Identifier: MIT */
/*
 * run - runs a program to its end, while signals sent to us reach it; or waits for processes that
 * run already.
 *
 *	run_open(&run, &err);			// signals come to us from now on
 *	for each run {
 *		run_begin(&run, arguments, &err);	// the process is there, the program not yet
 *		open_counters(run.launch.pid);
 *		run_to_end(&run, &times, &err);
 *		run_finish(&run);
 *	}
 *	run_close(&run);
 *
 *	run_attach(&run, pids, nr, &err);	// instead of run_begin()
 *	open_counters_of_threads(&run.attach);
 *	run_to_end(&run, &times, &err);		// of all of them, or a signal's, or the duration's
 *
 * Signals are handled as record/target/supervise.h says: whoever asks twice leaves the program
 * running.  Whether somebody asked at all is in supervise_asked(&run.supervisor).
 */
#ifndef STAT_RUN_H
#define STAT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "record/target/attach.h"
#include "record/target/launch.h"
#include "record/target/supervise.h"
#include "record/target/wakeups.h"

struct run {
	struct launch launch;
	struct launch_inheritance inheritance;
	struct supervisor supervisor;
	struct attach attach; /* none: it is a program that is run */
	struct wakeups wakeups;

	/* After run_to_end(): */
	int64_t wall_ns; /* from the release of the program to its end */
	int exit_status; /* -1: not ended by exit */
	int signal;	 /* that ended it; 0: none */
	bool left_running;
};

struct run_times {
	int64_t duration_ns;	  /* of those that run already; 0: to their end */
	unsigned int interval_ms; /* what happens every so often meanwhile; 0: nothing */
	void (*tick)(void *context, double time_s);
	void *context;
};

int run_open(struct run *run, struct error *err);
/* On failure there is nothing to finish. */
int run_begin(struct run *run, char *const *arguments, struct error *err);
int run_attach(struct run *run, const pid_t *pids, size_t nr, struct error *err);
/* Negative if the program could not be executed: run->launch.status is what a shell would say. */
int run_to_end(struct run *run, const struct run_times *times, struct error *err);
/* Ends a program that was never released. */
void run_finish(struct run *run);
/* Our signals as they were. */
void run_close(struct run *run);

#endif
