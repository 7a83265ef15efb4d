/* SPDX-License-Identifier: MIT */
/*
 * run - runs a program to its end, while signals sent to us reach it.
 *
 *	run_begin(&run, arguments, &err);	// the process is there, the program not yet
 *	open_counters(run.launch.pid);
 *	run_to_end(&run, &ticks, &err);
 *	run_release(&run);
 *
 * Signals are handled as record/target/supervise.h says: whoever asks twice leaves the program
 * running.
 */
#ifndef STAT_RUN_H
#define STAT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "record/target/launch.h"
#include "record/target/supervise.h"

struct run {
	struct launch launch;
	struct launch_inheritance inheritance;
	struct supervisor supervisor;

	/* After run_to_end(): */
	int64_t wall_ns; /* from the release of the program to its end */
	int exit_status; /* -1: not ended by exit */
	int signal;	 /* that ended it; 0: none */
	bool left_running;
};

/* What happens every so often while it runs. */
struct run_ticks {
	unsigned int interval_ms; /* 0: nothing */
	void (*tick)(void *context, double time_s);
	void *context;
};

int run_begin(struct run *run, char *const *arguments, struct error *err);
/* Negative if the program could not be executed: run->launch.status is what a shell would say. */
int run_to_end(struct run *run, const struct run_ticks *ticks, struct error *err);
/* Our signals as they were.  Ends a program that was never released. */
void run_release(struct run *run);

#endif
