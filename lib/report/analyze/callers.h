/* SPDX-License-Identifier: MIT */
/*
 * callers - who calls what: pairs of a function and one that calls it directly, and what of the CPU
 * time and of the heap is below such a call.
 *
 * Each stack counts once for a pair, also where the pair recurs on it: a function's totals add up to
 * more than it has where several of its callers are on one stack.  What it has itself is its innermost
 * caller's.
 */
#ifndef REPORT_ANALYZE_CALLERS_H
#define REPORT_ANALYZE_CALLERS_H

#include "base/intern.h"
#include "report/analyze/chains.h"
#include "report/analyze/cpu.h"
#include "report/analyze/heap.h"
#include "report/analyze/rows.h"
#include "report/load/select.h"

struct caller_row {
	const char *name, *module;	    /* the function that is called */
	const char *caller, *caller_module; /* NULL: none, it begins its stack */
	struct figure self, total;	    /* shares, 0..1 */
	struct figure samples;		    /* in self */
	struct figure at_peak_bytes, allocations, reallocations, allocated_bytes;
	struct figure calls; /* allocations and reallocations, which allocated_bytes are of */
};

struct callers {
	struct rows rows;   /* of struct caller_row, most total first, then most bytes allocated */
	const char *reason; /* why figures of the CPU, or of the heap, are absent; NULL: none is */
	struct caller_row *storage;
};

/* cprof's own functions are in no pair.  The figures of cpu and heap must be there.  texts: owns reasons. */
void callers_analyze(struct callers *callers, const struct chains *chains,
		     const struct selection *selection, const struct cpu *cpu,
		     const struct heap *heap, struct intern *texts);
void callers_release(struct callers *callers);

#endif
