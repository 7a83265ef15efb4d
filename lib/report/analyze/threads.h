/* SPDX-License-Identifier: MIT */
/*
 * threads - every thread: its part of the CPU time, and what it did to the heap of its process.
 *
 * Threads that had the same tid in a process one after the other have their heap figures in common.
 * A thread that only the heap side knows of has no name and no times.
 */
#ifndef REPORT_ANALYZE_THREADS_H
#define REPORT_ANALYZE_THREADS_H

#include "base/intern.h"
#include "report/analyze/cpu.h"
#include "report/analyze/rows.h"
#include "report/load/select.h"

struct thread_row {
	int pid, image, tid;
	const char *name;
	struct texts command;
	const char *start_function; /* see thread_starts.h */
	struct figure start_s, end_s;
	struct figure samples, share;
	/* What it allocated, whoever freed it; what it freed, whoever had allocated it. */
	struct figure allocations, frees, reallocations;
	struct figure allocated_bytes, freed_bytes;
	struct figure temporary;
	const char *reason; /* why figures of the CPU, or of the heap, are absent; NULL: none is */
};

struct threads {
	struct rows rows; /* of struct thread_row, most CPU first, then most allocations */
	struct thread_row *storage;
};

/* starts: thread_starts(); NULL: nobody wants to know.  texts: owns the reasons made here. */
void threads_analyze(struct threads *threads, const struct profile *profile,
		     const struct selection *selection, const char *const *starts,
		     const struct cpu *cpu, struct intern *texts);
void threads_release(struct threads *threads);

#endif
