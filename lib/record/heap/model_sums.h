/* SPDX-License-Identifier: MIT */
/*
 * model_sums - what an image holds, while one event after the other changes that.
 *
 *	struct sums sums = { .changed_ns = SUMS_NEVER };
 *
 *	sums_turn_to(&sums, model, image);		// its events follow
 *	sums_add(&sums, model, worth, time_ns);		// allocated
 *	sums_subtract(&sums, model, worth, time_ns);	// freed
 *	sums_settle(&sums, model);			// all are applied
 *
 * What the tree holds changes by as much.  So the peaks and timelines of both are looked after when the
 * sum falls from a maximum of one of them, when a slice is over, and when it is settled: in between
 * they do not know of the changes.
 */
#ifndef RECORD_HEAP_MODEL_SUMS_H
#define RECORD_HEAP_MODEL_SUMS_H

#include "record/heap/model_state.h"

#define SUMS_NEVER UINT64_MAX

struct sums {
	struct model_image *image;
	uint64_t bytes, blocks;
	uint64_t changed_ns; /* SUMS_NEVER: nothing did since they were loaded */
	uint64_t most_bytes; /* since then */
	uint64_t peak_bytes; /* falls from here are from a maximum, of the image or of the tree */
	uint64_t turn_ns;    /* there a slice of a timeline is over */
	uint64_t epochs;     /* see site.h */
};

/* Settles what they are of, and goes on with this image. */
void sums_turn_to(struct sums *sums, struct heap_model *model, struct model_image *image);
void sums_settle(const struct sums *sums, struct heap_model *model);

/* At this time a slice of a timeline is over. */
void sums_end_slice(struct sums *sums, struct heap_model *model, uint64_t time_ns);
/* They will fall from what may be a maximum. */
void sums_leave_peak(struct sums *sums, struct heap_model *model);

/* Before what was allocated is counted: a slice that is over has none of it. */
__attribute__((always_inline)) static inline void
sums_add(struct sums *sums, struct heap_model *model, struct worth more, uint64_t time_ns)
{
	if (__builtin_expect(time_ns >= sums->turn_ns, 0))
		sums_end_slice(sums, model, time_ns);
	sums->bytes += more.bytes;
	sums->blocks += more.blocks;
	sums->changed_ns = time_ns;
	if (sums->bytes > sums->most_bytes)
		sums->most_bytes = sums->bytes;
}

__attribute__((always_inline)) static inline void
sums_subtract(struct sums *sums, struct heap_model *model, struct worth less, uint64_t time_ns)
{
	if (__builtin_expect(time_ns >= sums->turn_ns, 0))
		sums_end_slice(sums, model, time_ns);
	if (__builtin_expect(sums->bytes >= sums->peak_bytes && less.bytes, 0))
		sums_leave_peak(sums, model);
	sums->bytes -= less.bytes;
	sums->blocks -= less.blocks;
	sums->changed_ns = time_ns;
}

#endif
