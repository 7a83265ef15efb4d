/* SPDX-License-Identifier: MIT */
/*
 * heap - where the memory went: figures of a process or of all, and a table of sites.
 *
 * A site is one distinct list of (name, file, line), from the first frame after libc's start code
 * to the allocation function that was called.  Stacks that differ only in addresses, modules or
 * processes are one site.
 */
#ifndef REPORT_ANALYZE_HEAP_H
#define REPORT_ANALYZE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "report/analyze/heap_classes.h"
#include "report/analyze/heap_handoffs.h"
#include "report/analyze/heap_places.h"
#include "report/analyze/history.h"
#include "report/analyze/rows.h"

struct heap_site {
	struct rows frames; /* of struct heap_place, root first, the allocation function last */
	struct texts stack; /* their names */
	uint64_t allocations, frees, reallocations;
	uint64_t calls; /* that allocated_bytes are of: allocations and reallocations */
	uint64_t allocated_bytes, freed_bytes;
	uint64_t at_peak_bytes, at_peak_blocks;
	uint64_t live_bytes, live_blocks;
	uint64_t leaked_bytes, leaked_blocks; /* of these, what was not live at an exec */
	uint64_t temporary;
	double temporary_share;	     /* of the allocations */
	uint64_t cross_thread_frees; /* by another thread than allocated, or last reallocated it */
	double cross_thread_share;   /* of the frees */
	struct figure mean_lifetime_s;
	struct {
		struct figure allocations, allocated_bytes, at_peak_bytes, live_bytes;
	} error;			   /* standard errors of what is estimated from a sample */
	struct figure page_faults;	   /* in its blocks: first touches, mostly */
	struct figure moved, copied_bytes; /* of the reallocations */
	struct figure at_peak_slack_bytes;
	struct rows sizes, lifetimes; /* of struct heap_size and heap_age */
};

struct heap_lifetime {
	struct figure below_s; /* absent: no bound */
	uint64_t bytes, blocks;
};

struct heap_churn {
	uint64_t bytes;
	struct figure share; /* of allocated_bytes */
	struct heap_lifetime classes[PROFILE_NR_LIFETIMES];
	struct rows by_lifetime;
};

/* Why figures are withheld. */
#define HEAP_OF_THE_WHOLE_RUN "heap figures are of the whole run, not of a part of its time"

/* By the program itself, to compare. */
struct heap_counted {
	uint64_t allocations, frees, reallocations, allocated_bytes;
	uint64_t difference; /* operations that are not in the figures, or too many there */
};

struct heap {
	const char *mode;
	bool tracked;	    /* if not, nothing below is known */
	bool followed;	    /* if not, only what was counted: no peak, no sites */
	bool own_peak;	    /* sites are shown at the peak of their process, not of the tree */
	bool withheld;	    /* not tracked here, since what is known is not of what was selected */
	const char *reason; /* why there are no figures, or no peak */
	struct figure sample_bytes; /* mean distance of a sample's points; absent: there is none */

	uint64_t allocations, frees, reallocations;
	uint64_t allocated_bytes, freed_bytes;
	struct figure peak_bytes, peak_blocks, peak_time_s;
	bool peak_exact;
	struct figure peak_most_bytes;			  /* a bound, where it is not */
	struct figure peak_bytes_error, live_bytes_error; /* of a sample: standard errors */
	uint64_t live_bytes, live_blocks;
	bool live_exact; /* no event is missing */
	uint64_t live_at_exec_bytes,
		live_at_exec_blocks; /* of these, of images that an exec ended */
	uint64_t temporary;
	double temporary_share;
	uint64_t inherited_bytes, inherited_frees;
	struct heap_handoffs handoffs;
	struct heap_churn churn;
	struct figure page_faults, page_faults_in_blocks;
	struct figure moved, copied_bytes;
	const char *allocator;	   /* the library whose malloc it is; NULL: not known, or several */
	struct figure slack_bytes; /* of all that was asked for */
	struct figure at_peak_slack_bytes;
	struct rows sizes, lifetimes; /* of struct heap_size and heap_age */
	struct rows sites;	      /* of struct heap_site, most at peak first */
	struct history timeline;      /* filled by analysis.c, even where nothing was tracked */

	double stall_s; /* the program waited for cprof */
	uint64_t unknown_frees, late_events, lost_events;
	struct heap_counted counted;

	struct arena arena; /* owns the sites and their lists */
};

/* Whose heap. */
struct heap_scope {
	uint32_t process;	   /* id, or PROFILE_NONE: all selected ones together */
	const bool *processes;	   /* by id: the selected ones */
	const struct map *threads; /* see heap_handoffs_threads() */
	bool no_sites;		   /* figures only */
};

void heap_analyze(struct heap *heap, const struct profile *profile, struct heap_places *places,
		  const struct heap_scope *scope);
void heap_release(struct heap *heap);

/* Why there are no figures of the blocks of the process, or of any (PROFILE_NONE); NULL: there are.
 */
const char *heap_why_unfollowed(const struct profile *profile, uint32_t process);

#endif
