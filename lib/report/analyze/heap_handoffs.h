/* SPDX-License-Identifier: MIT */
/*
 * heap_handoffs - which threads free what others allocated.
 *
 * A block that a thread reallocates is from then on that thread's.  Pairs of threads that are one
 * pair of names in one process are still rows of their own.
 */
#ifndef REPORT_ANALYZE_HEAP_HANDOFFS_H
#define REPORT_ANALYZE_HEAP_HANDOFFS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "report/analyze/rows.h"
#include "store/reader.h"

struct heap_handoff {
	int pid, image;
	struct figure from_tid, to_tid;	 /* absent: all pairs that are no rows of their own */
	const char *from_comm, *to_comm; /* NULL: not known */
	const char *from, *to;		 /* for people */
	uint64_t frees, freed_bytes;
	double share; /* of all that is handed over, in blocks */
};

struct heap_handoffs {
	struct rows rows; /* of struct heap_handoff, most blocks first */
	uint64_t frees, freed_bytes;
};

struct heap_scope;

/* Indexes of threads by process and tid, of the last one that had it: once for all processes, since
 * there may be thousands.  Empty if nothing was handed over. */
struct map heap_handoffs_threads(const struct profile *profile);

/* What the rows point to is in the arena. */
void heap_handoffs_list(struct heap_handoffs *handoffs, const struct profile *profile,
			const struct heap_scope *scope, struct arena *arena);

#endif
