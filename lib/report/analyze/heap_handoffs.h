/* SPDX-License-Identifier: MIT */
/*
 * heap_handoffs - which threads free what others allocated.
 *
 * A block that a thread reallocates is from then on that thread's.  Pairs of threads that are one
 * pair of names in one process are still rows of their own.
 */
#ifndef REPORT_ANALYZE_HEAP_HANDOFFS_H
#define REPORT_ANALYZE_HEAP_HANDOFFS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
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

/* Of the process, or with PROFILE_NONE of those selected, by id; what the rows point to is in the
 * arena. */
void heap_handoffs_list(struct heap_handoffs *handoffs, const struct profile *profile,
			uint32_t process, const bool *selected, struct arena *arena);

#endif
