/* SPDX-License-Identifier: MIT */
/*
 * stopper - the CPU side of a recording where perf is refused, and its thread.
 *
 *	if (stopper_open(&stopper, &config, pid, &err) < 0)	// pid has not executed yet
 *		no_cpu_side(err.message);
 *	stopper_start(stopper, processes, start_ns);
 *	... it executes the program ...
 *	stopper_run(stopper, &err);
 *	... the program runs ...
 *	stopper_finish(stopper);
 *	fd = stopper_module_fd(stopper, profile_module_id);	// kept open until close
 *	stopper_close(stopper);
 *
 * Whenever a process has used some 10 ms of CPU time, a timer of ours on that time fires (group.h) and
 * one of its threads that run is stopped by ptrace for a moment (stops.h); what is sampled is the CPU
 * time that it has used since its last sample.  The event is called cpu-time.  Processes, threads,
 * execs and names are found by /proc, at the same moments and a hundred times a second, so that
 * nothing else is done to the program.
 *
 * The kernel's code is not seen: its time counts where the program called it.  What lives for less
 * than the time between two looks is seldom met; then it stands for those that were not.
 *
 * Why from outside, as measured in a virtual machine, per sample:
 *
 *				ptrace			a timer for each thread, by the shim
 *	the program's CPU	50 us (perf: 40-55)	0-30 us
 *	the recorder's CPU	45-110 us		-
 *	waits broken off, by	0 of 34,000 (6-8 % of	0 of 12,000 (by one timer of
 *	EINTR			read() with a timeout,	the process, ITIMER_PROF)
 *				if not taken back)
 *	takes from the program	nothing			a signal number, room on every stack
 *	does not reach		traced, set-user-ID	static, set-user-ID, -p, blocked signals
 *
 * At 100 samples a second of CPU time that is half a percent of the program and up to one of the
 * recorder.  By the clock on the wall instead of the program's own, with other programs on all CPUs,
 * each stop took a thread's turn on a CPU from it, and nine of ten stops met threads that waited for
 * one: mostly at the end of a system call, which got ten times the share that it had.
 */
#ifndef RECORD_STOPPER_H
#define RECORD_STOPPER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/aggregate/aggregate.h"
#include "record/events/event_types.h"
#include "record/events/sampling.h"
#include "record/processes.h"
#include "record/target/attach.h"

struct stopper_config {
	const struct event_types *events; /* asked for */
	const char *refused;		  /* why perf is; NULL: cpu-time was asked for */
	const struct attach *attach;	  /* to these processes, not the pid; NULL */
	struct sampling sampling;
	const char *shim; /* path of our own module, or NULL */
	struct aggregate *aggregate;
};

struct stopper;

/* ERR_REFUSED or ERR_UNSUPPORTED with the reason when this cannot be done either.  What config
 * points at has to stay. */
int stopper_open(struct stopper **stopper, const struct stopper_config *config, pid_t pid,
		 struct error *err);
void stopper_close(struct stopper *stopper);

/* processes has to be there until stopper_finish().  start_ns: of the recording, CLOCK_MONOTONIC.
 */
void stopper_start(struct stopper *stopper, struct processes *processes, int64_t start_ns);
/* What was the child's copy of us is the program now. */
int stopper_run(struct stopper *stopper, struct error *err);
/* With sampling.delayed: now. */
void stopper_begin(struct stopper *stopper);
void stopper_finish(struct stopper *stopper);

/* All that the program and what it has waited for have used, as the kernel counts. */
void stopper_count(const struct stopper *stopper, uint64_t used_ns);

/* Why this is sampled instead of what was asked for; NULL: it was. */
const char *stopper_reason(const struct stopper *stopper);
/* That it is not sampled as often as was asked for; NULL: it is. */
const char *stopper_lowered(const struct stopper *stopper);

/* Of the file that this module of the profile was mapped from; -1: not known, or not readable. */
int stopper_module_fd(const struct stopper *stopper, uint32_t profile_module);

#endif
