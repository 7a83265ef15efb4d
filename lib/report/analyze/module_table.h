/* SPDX-License-Identifier: MIT */
/*
 * module_table - the files (and other places) that code was seen in: how much of it, where its names come
 * from, and what would give better ones.
 */
#ifndef REPORT_ANALYZE_MODULE_TABLE_H
#define REPORT_ANALYZE_MODULE_TABLE_H

#include "base/intern.h"
#include "report/analyze/cpu.h"
#include "report/analyze/heap.h"
#include "report/analyze/rows.h"
#include "report/load/select.h"

struct module_row {
	const char *name, *path, *build_id;
	struct figure self, total; /* shares, 0..1: in its code, and in all that this called */
	struct figure samples;	   /* in its code */
	/* Of the stacks that it is on, at any depth. */
	struct figure allocations, allocated_bytes;
	uint64_t addresses, unnamed; /* distinct ones that were seen; those without a name */
	const char *names;	     /* profile_debug_name() */
	const char *debug_path;
	const char *reason; /* why its names are not better, and what to do about it */
};

struct module_table {
	struct rows rows;   /* of struct module_row, most self first, then most allocations */
	const char *reason; /* why figures of the CPU, or of the heap, are absent; NULL: none is */
	struct module_row *storage;
};

/* cprof's own are not listed.  The figures of cpu and heap must be there.  texts: owns reasons. */
void module_table_analyze(struct module_table *table, const struct chains *chains,
			  const struct selection *selection, const struct cpu *cpu,
			  const struct heap *heap, struct intern *texts);
void module_table_release(struct module_table *table);

#endif
