/* SPDX-License-Identifier: MIT */
/*
 * model - what the heap was, from the events of all processes in one order.
 *
 *	image = heap_model_image(model);
 *	lane = heap_model_lane(model, image);
 *	heap_model_thread(model, lane, tid, true);
 *	site = heap_model_site(model, image);
 *	heap_model_apply(model, events, nr);		// any number of times
 *	heritage = heap_model_fork(model, image);	// what a child starts with
 *	heap_model_inherit(model, child, heritage);
 *	heap_model_end(model, image, time_ns);
 *	heap_model_figures(model, image, &figures);
 *
 * Pure: no clock, no files, no threads, and the same events give the same figures.  Ids are dense
 * from 0, and so are times, nanoseconds since the start of the recording.
 *
 * The definitions are those of the manual.  In short: a reallocation is neither an allocation nor
 * a free; the new size is allocated and the old one freed at the site that reallocates, which then
 * owns the block; the block's birth stays; the sums change once, when it ends.  A temporary is an
 * allocation whose very next heap operation on the same thread is its free.  The freed bytes of a
 * lifetime class include what reallocations gave up, at the age the block had.
 *
 * A forked child's figures are of its own blocks.  Those it has from its parent are apart: how many
 * bytes they were at the fork, and how many it freed.  One that it reallocates becomes its own by
 * an allocation.
 *
 * The blocks may be a sample: then figures are estimates, but for those of a site, which are of its
 * blocks of the sample, and all of its blocks have one weight (worth.h).  A reallocated block then
 * begins anew, and what it gave up is freed where it was allocated.
 *
 * Events may be wrong (the program can write into the rings).  The figures then are, but for each
 * image and site allocations - frees = live blocks, and the sites sum to the image.
 */
#ifndef RECORD_HEAP_MODEL_H
#define RECORD_HEAP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/heap/heritage.h"
#include "record/heap/histogram.h"
#include "record/heap/timeline.h"
#include "store/profile.h"

struct heap_model;

enum heap_op {
	HEAP_ALLOC,	     /* address, size, site */
	HEAP_FREE,	     /* address */
	HEAP_REALLOC_BEGIN,  /* address: nobody's until the end; a former one without end failed */
	HEAP_REALLOC_DONE,   /* address, size, site of what the block became */
	HEAP_REALLOC_FAILED, /* the block stays as it was */
	HEAP_REALLOC_FREED,  /* realloc(p, 0) that was a free */
	/* Of a sample: */
	HEAP_REALLOC_LEFT, /* ends a BEGIN: reallocated, and not of the sample any more */
	HEAP_REALLOC_CAME, /* address, size, site: of a reallocation, from now on of the sample */
	HEAP_OTHERS,	   /* the thread did something with blocks that are not */
};

struct heap_event {
	uint64_t address; /* not 0 */
	uint64_t size;	  /* below 2^48 */
	uint64_t time_ns; /* not UINT64_MAX */
	uint32_t site;
	uint32_t lane : 24, op : 8;
};

struct heap_model *heap_model_new(void);
void heap_model_free(struct heap_model *model);

/* An executed program starts with an empty heap. */
uint32_t heap_model_image(struct heap_model *model);
/* Its malloc is glibc's, so it is known how large blocks really are; from its first event on. */
void heap_model_glibc(struct heap_model *model, uint32_t image, uint64_t page_bytes);
/* It is over, by exit or exec: what it still had is its live memory for good, and gone from the
 * tree's.  Of its sites and lanes no more events may come. */
void heap_model_end(struct heap_model *model, uint32_t image, uint64_t time_ns);

/* What a child has that the image forks now; for _inherit() or heritage_free(). */
struct heritage *heap_model_fork(struct heap_model *model, uint32_t image);
/* The image is such a child; nobody knows what it has as long as heritage is NULL.  Takes it over.
 */
void heap_model_inherit(struct heap_model *model, uint32_t image, struct heritage *heritage);

/* A lane is a sequence of events in which a realloc ends before the next begins: what one thread
 * does at one level of signal handlers. */
uint32_t heap_model_lane(struct heap_model *model, uint32_t image);
/* From here on the lane is of this thread.  fresh: one that starts; otherwise it may have other
 * lanes already. */
void heap_model_thread(struct heap_model *model, uint32_t lane, int32_t tid, bool fresh);

/* Nothing of the image, which is over, will ever change: it held nothing at the peak of the tree.
 */
bool heap_model_is_settled(const struct heap_model *model, uint32_t image);
/* Forgets such an image and its sites, whose ids are given out again; the tree's figures stay. */
void heap_model_retire(struct heap_model *model, uint32_t image);

/* A place that allocates. */
uint32_t heap_model_site(struct heap_model *model, uint32_t image);

/* Before any event: the blocks are a sample, each site has a weight. */
void heap_model_is_sample(struct heap_model *model);
/* Before the first event of the site: all of its blocks have this weight. */
void heap_model_weigh(struct heap_model *model, uint32_t site, uint64_t weight);

/* Before any image: page faults are told of. */
void heap_model_follow_faults(struct heap_model *model);
/* One at this address, between the events.  False: there is no block (yet). */
bool heap_model_fault(struct heap_model *model, uint32_t image, uint64_t address);
/* One that is in none. */
void heap_model_fault_elsewhere(struct heap_model *model, uint32_t image);

void heap_model_apply(struct heap_model *model, const struct heap_event *events, size_t nr);

/* Events were applied after others that happened later, or never: peaks are not exact. */
void heap_model_late(struct heap_model *model, uint32_t image, uint64_t nr);
void heap_model_lost(struct heap_model *model, uint32_t image, uint64_t nr);

/* Everything that the model knows of the image, or with PROFILE_NONE of the whole tree; other
 * fields are zeroed. */
void heap_model_figures(const struct heap_model *model, uint32_t image,
			struct profile_heap *figures);
/* The same of a site; process, stack and allocator are the caller's.  Of a sample, blocks and bytes
 * are in the parts of worth.h. */
void heap_model_site_figures(const struct heap_model *model, uint32_t site,
			     struct profile_heap_site *figures);
/* Adds, by the classes of store/classes.h, the blocks that the site asked for and those it freed; of
 * a sample, in parts of blocks as its figures are. */
void heap_model_site_histograms(const struct heap_model *model, uint32_t site, uint64_t *sizes,
				uint64_t *lifetimes);
/* What the whole image asked for, by allocations and reallocations, in each of SIZE_CLASSES. */
void heap_model_sizes(const struct heap_model *model, uint32_t image, struct histogram_sum *sizes);
/* How many threads of the image there were, and the figures of the index-th; process is the caller's.
 * An operation of a lane whose thread was never told is of none: tid < 0. */
size_t heap_model_nr_threads(const struct heap_model *model, uint32_t image);
void heap_model_thread_figures(const struct heap_model *model, uint32_t image, size_t index,
			       struct profile_heap_thread *figures);
/* How many pairs of threads of the image hand over blocks, and the index-th one; process is the caller's.
 */
size_t heap_model_nr_handoffs(const struct heap_model *model, uint32_t image);
struct profile_heap_handoff heap_model_handoff(const struct heap_model *model, uint32_t image,
					       size_t index);
/* Of the image, or with PROFILE_NONE of the whole tree: see timeline_take(). */
struct timeline_slices heap_model_timeline(struct heap_model *model, uint32_t image);
/* Blocks that were allocated where there was one already: frees that nobody told us. */
uint64_t heap_model_duplicates(const struct heap_model *model, uint32_t image);

#endif
