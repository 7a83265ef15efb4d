/* SPDX-License-Identifier: MIT */
/*
 * image - one program image whose heap is accounted: from its sites to rows of the profile.
 *
 *	image = image_new(model, segment);
 *	site = image_site(image, stack_node, function, size);		// for an event
 *	image_resolve(image, frames, SIZE_MAX);			// while its segment is there
 *	image_push(image, aggregate, peak_moved);		// what changed since the last time
 *	image_end(image, time_ns);				// no more events ...
 *	image_leave_segment(image);				// ... and all resolved
 *
 * The shim's stacks that are one stack in the profile (the same code loaded twice, say) are one
 * row: their figures are added up.
 */
#ifndef RECORD_HEAP_IMAGE_H
#define RECORD_HEAP_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/aggregate/aggregate.h"
#include "record/heap/collector.h"
#include "record/heap/frames.h"
#include "record/heap/model.h"
#include "record/heap/segment.h"
#include "record/heap/ticks.h"
#include "store/classes.h"

/* A stack of the shim's that allocates by one function. */
struct image_site {
	uint32_t model; /* site */
	uint32_t node;
	enum profile_allocator allocator;
	uint32_t older;	    /* of the same row, + 1; valid when resolved */
	uint32_t truncated; /* see frames.h */
};

/* A node and mostly the only function that is called there. */
struct image_leaf {
	uint32_t site;	   /* the model's */
	uint32_t function; /* + 1; 0: none yet */
};

struct image_row {
	uint32_t stack;
	enum profile_allocator allocator;
	uint32_t newest; /* site + 1 */
	uint64_t pushed; /* checksum of the figures last pushed */
};

struct image {
	struct heap_model *model;
	struct segment *segment; /* NULL when it is gone */
	uint32_t id;		 /* the model's */
	enum wire_mode mode;
	uint64_t sample_bytes; /* of WIRE_MODE_SAMPLE */
	uint64_t start_sequence;
	uint32_t process; /* the profile's; PROFILE_NONE: not known yet */
	struct heap_hello hello;
	char *executable, *arguments_text, **arguments;
	char *allocator; /* the library whose malloc it is; NULL: not known */
	bool slack_known;

	struct image_leaf *leaves; /* by node: the site that was the first; not in a sample */
	uint32_t nr_leaves;
	struct map site_of;  /* node << 8 | function to model's site; in a sample to a number */
	struct map sized_of; /* in a sample: that number and the size to model's site */
	VEC(struct image_site) sites;
	size_t nr_resolved;
	struct frames_image frames;
	struct map row_of; /* stack << 8 | allocator to index */
	VEC(struct image_row) rows;
	uint64_t pushed_sizes[SIZE_CLASSES]; /* blocks */
	VEC(uint64_t) threads;	/* by the model's index: operations of those last pushed */
	VEC(uint64_t) handoffs; /* the same: frees */

	bool changed; /* since the last push */
	bool was_tracked;
	uint32_t off_reason; /* enum wire_reason; 0: it is on */
	uint64_t off_ns;     /* then, since the recording began */
	bool is_cut;	     /* what came after that was not even counted */
	uint64_t end_ns;     /* CLOCK_MONOTONIC; 0: it runs */
	bool told_off, told_end;
	/* From the shared counters, kept when the segment goes. */
	uint64_t counted_allocations, counted_reallocations, counted_frees, counted_bytes;
	uint64_t lost, stalled_ns, missed;
	uint64_t shim_bytes; /* of memory, in the process; see segment_shim_bytes() */
};

struct image *image_new(struct heap_model *model, struct segment *segment);
void image_free(struct image *image);

/* The same as image_site(), of what is not among the leaves. */
uint32_t image_site_further(struct image *image, uint32_t node, unsigned int function,
			    uint64_t size);

/* function: enum wire_function, unchecked.  In a sample, blocks of each size have a site. */
static inline uint32_t image_site(struct image *image, uint32_t node, unsigned int function,
				  uint64_t size)
{
	if (__builtin_expect(
		    node < image->nr_leaves && image->leaves[node].function == function + 1, 1))
		return image->leaves[node].site;
	return image_site_further(image, node, function, size);
}

/* The stacks of at most nr sites; true: there are more. */
bool image_resolve(struct image *image, struct frames *frames, size_t nr);
/* Reads the shim's own counters. */
void image_read_counters(struct image *image);
/* Everything that changed, and if the tree's peak moved all that depends on it. */
void image_push(struct image *image, struct aggregate *aggregate, bool peak_moved);
/* The figures of the image with what the shim counted; process is set. */
void image_figures(const struct image *image, struct profile_heap *figures);

/* Whether, when and why its shim switched itself off; start_ns: of the recording. */
void image_note_off(struct image *image, const struct ticks *ticks, uint64_t start_ns);

/* The image is over.  The segment is still needed until all sites are resolved. */
void image_end(struct image *image, uint64_t time_ns);
void image_leave_segment(struct image *image);

/* --- image_quality.c: what is to be said against it -------------------------------------------*/

/* Why its shim switched itself off, in words. */
const char *image_off_reason(const struct image *image);
/* Tells which walks ended early, and where the shim's counters disagree. */
void image_tell_quality(const struct image *image, const struct frames *frames,
			struct aggregate *aggregate);

#endif
