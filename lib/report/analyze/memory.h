/* SPDX-License-Identifier: MIT */
/*
 * memory - what memory the kernel counted for the processes, above all as the heap was largest.
 *
 * A process is looked at now and then, so "at the heap's peak" is the look nearest to it, and says
 * when it was.  Resident memory that is shared counts for each process that has it.
 */
#ifndef REPORT_ANALYZE_MEMORY_H
#define REPORT_ANALYZE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "report/analyze/heap.h"
#include "report/analyze/rows.h"
#include "report/load/select.h"

struct memory_moment {
	bool known;	    /* if not, nothing below is */
	const char *reason; /* why not, or why there are no other_bytes */
	double time_s;
	uint64_t rss_bytes, anonymous_bytes, file_bytes, shared_bytes, swap_bytes;
	uint64_t heap_bytes;	   /* live then, the most within the slice of the timeline */
	struct figure other_bytes; /* anonymous, but not of live blocks */
	bool is_partial;	   /* so much as the heap's peak was never resident */
};

struct memory {
	bool seen;
	const char *reason; /* why not, or why there is no peak_rss_bytes */
	struct figure peak_rss_bytes;
	uint64_t most_of_one_bytes; /* the largest of several processes */
	struct memory_moment at_heap_peak;
};

/* Whose memory: process is an id, or PROFILE_NONE for all selected ones, as in heap. */
void memory_analyze(struct memory *memory, const struct profile *profile,
		    const struct selection *selection, uint32_t process, const struct heap *heap);

#endif
