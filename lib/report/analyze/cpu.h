/* SPDX-License-Identifier: MIT */
/*
 * cpu - where the samples fell: counters, and a table of functions.
 *
 * All shares are of the weight of the samples of the leading event that are the program's.  What
 * cprof cost inside the program (its shim, and the kernel on behalf of it) is in no share; it is
 * `overhead`.  A sample belongs to the innermost function at its address, inlined or not.
 */
#ifndef REPORT_ANALYZE_CPU_H
#define REPORT_ANALYZE_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "report/analyze/rows.h"
#include "report/analyze/trees.h"
#include "report/load/select.h"

/* Fewer samples of an event than this say nothing about a function. */
#define CPU_FEW_SAMPLES 30
#define CPU_TOO_FEW "too few samples"

#define CPU_NOT_FOLLOWED "not followed (--no-inherit)"

struct cpu_counter {
	const char *name, *unit;
	const char *status; /* profile_status_name() */
	const char *reason;
	struct figure value, coverage;
};

struct cpu_function {
	const char *name, *module, *file;
	uint32_t line;
	double self, total; /* shares, 0..1 */
	double error;	    /* half width of the 95 % interval of self */
	uint64_t samples;   /* of the leading event, in self */
	uint64_t self_weight;
	struct figure ipc, branch_mpki, cache_mpki;
	const char *reason; /* why some of those are absent */
	/* Place by self.  Functions that the samples cannot tell apart share it and are tied. */
	uint32_t rank;
	bool tied;
	char rank_room[12];
	const char *rank_text; /* "2 ", "3="; NULL without a sample */
	bool unnamed;
};

/* By a process or a thread. */
struct cpu_use {
	bool sampled;	    /* if not, nothing below is known */
	const char *reason; /* why not */
	uint64_t samples;
	double share;
};

struct cpu {
	const char *event; /* NULL: nothing was sampled */
	const char *unit;
	const char *substituted_for;
	const char *reason; /* why not, or why another event */
	struct figure frequency_hz, period;
	bool user_only;
	bool sampled;	      /* if not, only the counters below are known */
	struct rows counters; /* of struct cpu_counter */

	uint64_t samples, lost, truncated; /* lost: samples only */
	struct figure seconds;		   /* on CPU, without the overhead */
	bool seconds_with_overhead;	   /* with it: its part of time is not known */
	struct figure sampled_seconds;	   /* what the samples are of it, of a clock */
	bool is_time;			   /* shares are of CPU time, or of cycles */
	struct figure ipc, branch_mpki, cache_mpki;
	struct rows functions;	   /* of struct cpu_function, most self first */
	size_t nr_sampled;	   /* functions with samples in self */
	struct cpu_use *processes; /* by id */
	struct cpu_use *threads;   /* by id */

	uint64_t overhead_samples;
	double overhead_share; /* of the weight of all samples, cprof's among them */
	double overhead_error; /* half width of the 95 % interval of it */
	uint64_t unnamed_samples;
	double unnamed_share;

	struct cpu_counter *counter_storage;
	struct cpu_function *function_storage;
};

void cpu_analyze(struct cpu *cpu, const struct profile *profile, const struct chains *chains,
		 const struct selection *selection);
void cpu_release(struct cpu *cpu);

/* The counter called name, or NULL. */
const struct cpu_counter *cpu_counter(const struct cpu *cpu, const char *name);

#endif
