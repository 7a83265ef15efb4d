/* SPDX-License-Identifier: MIT */
/*
 * analysis - everything the reports show of a profile, computed.
 *
 *	analysis_init(&analysis, profile, &selection, &(struct analysis_options){ 0 });
 *	use(analysis.cpu.functions.at[0]);
 *	analysis_release(&analysis);
 *
 * It uses texts of the profile.  What is absent says why; nothing is made up.
 */
#ifndef REPORT_ANALYZE_ANALYSIS_H
#define REPORT_ANALYZE_ANALYSIS_H

#include "report/analyze/callers.h"
#include "report/analyze/cpu.h"
#include "report/analyze/heap.h"
#include "report/analyze/memory.h"
#include "report/analyze/module_table.h"
#include "report/analyze/rows.h"
#include "report/analyze/threads.h"
#include "report/load/select.h"

struct analysis_options {
	bool no_inline;
	bool process_sites; /* sites and timelines also by process */
	bool samples;	    /* in the timeline, too */
	bool callers;	    /* otherwise empty */
	bool thread_starts; /* what threads began in */
};

struct process_row {
	int pid, image;
	struct figure parent; /* pid */
	struct texts command;
	struct figure start_s, end_s;
	bool executed, replaced; /* it began, ended by an exec */
	struct figure exit_status, signal;
	bool tracked;
	const char *reason;
	struct cpu_use cpu;
	struct heap heap;
	struct memory memory;
	struct figure cpu_share, heap_peak, heap_allocations; /* the same, for tables */
};

struct quality_row {
	const char *kind; /* profile_quality_name() */
	uint64_t count;
	const char *detail;
	struct figure share; /* of the samples, where count is some of them */
	bool is_no_count;    /* count says nothing that the detail does not */
};

/* What a reader has to know of the ledger: all rows of a kind in one. */
struct quality_note {
	const char *kind;
	uint64_t count;
	struct figure share;
	const char *detail; /* of the largest row */
	size_t others;	    /* the other rows */
};

struct analysis {
	const char *cprof_version;
	struct texts command;
	struct figure exit_status, signal, wall_s;
	bool complete;
	bool end_known; /* of the program itself */
	size_t nr_pids, nr_threads;
	struct figure recorder_s; /* CPU time that cprof used beside the program */
	struct figure shim_bytes; /* memory that it used in the process where that was most */

	struct cpu cpu;
	struct heap heap;
	struct memory memory;
	const char *timeline_reason; /* why figures of it are absent; NULL: none is */
	struct rows leaks;	     /* of struct heap_site: what leaked, most bytes first */
	struct rows busy_sites;	     /* those of the heap, most allocations first */
	struct rows large_sites;     /* the same, most bytes allocated first */
	struct rows processes;	     /* of struct process_row, in the order of their start */
	size_t process_slices;	     /* in the timeline of each, at most */
	struct rows busy_processes;  /* those with samples or a heap, most CPU first */
	struct threads threads;
	struct module_table modules;
	struct callers callers;
	struct rows quality; /* of struct quality_row */
	struct rows notes;   /* of struct quality_note, what spoils most first */

	struct chains chains;
	struct heap_places places;
	struct map threads_by_tid; /* see heap_handoffs_threads() */
	struct process_row *process_storage;
	struct quality_row *quality_storage;
	struct quality_note *note_storage;
	struct intern texts; /* owns the details made here */
};

void analysis_init(struct analysis *analysis, const struct profile *profile,
		   const struct selection *selection, const struct analysis_options *options);
void analysis_release(struct analysis *analysis);

#endif
