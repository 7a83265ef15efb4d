/* SPDX-License-Identifier: MIT */
/*
 * history - heap, memory and samples over time, in slices of one length without gaps.
 *
 *	history_analyze(&history, profile, &(struct history_scope){ .process = PROFILE_NONE, ... });
 *	use(&history.slices[0]);
 *	history_release(&history);
 *
 * The slices are as long as those of the heap that was recorded, or longer, so that there are at
 * most some 1000; each of very many processes gets fewer.  What is live lasts until it changes; so
 * does what was last seen of the memory of a process, until its end.
 */
#ifndef REPORT_ANALYZE_HISTORY_H
#define REPORT_ANALYZE_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "report/analyze/rows.h"
#include "report/load/select.h"

#define HISTORY_SLICES 1024

struct time_slice {
	double t_s, duration_s;
	struct figure live_bytes; /* at its end */
	struct figure max_live_bytes;
	struct figure allocations, allocated_bytes;
	struct figure rss_bytes;
	struct figure samples;
	struct figure cpu_s; /* on CPU: of several threads more than the slice is long */
};

struct history {
	struct rows rows; /* of struct time_slice, in the order of time */
	struct time_slice *slices;
	size_t nr;
	bool is_empty; /* nothing is known in any slice */
	/* Why figures of the CPU, or of the heap, are absent in the slices; NULL: none is. */
	const char *no_cpu, *no_heap;
};

struct history_scope {
	uint32_t process; /* id, or PROFILE_NONE: all selected ones together */
	const struct selection *selection;
	const char *no_heap; /* why there is no heap; NULL: there is */
	const char *no_cpu;  /* why nothing was sampled; NULL: it was */
	bool samples;	     /* read them, too, if the scope is all */
	size_t slices;	     /* at most; 0: HISTORY_SLICES */
};

void history_analyze(struct history *history, const struct profile *profile,
		     const struct history_scope *scope);
void history_release(struct history *history);

#endif
