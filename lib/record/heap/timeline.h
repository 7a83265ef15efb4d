/* SPDX-License-Identifier: MIT */
/*
 * timeline - what was live and what was allocated over time, in bounded space.
 *
 *	if (time_ns >= timeline.end_ns)			// before each change
 *		timeline_turn(&timeline, &now, time_ns);
 *	...						// the change
 *	timeline_note(&timeline, now.live_bytes);	// after it
 *
 *	slices = timeline_take(&timeline, &now);	// new or changed since the last time
 *
 * Time is cut into slices of one width.  Only those in which something happened are kept, and when
 * there are too many the width is doubled and neighbours are merged, so that a second and a day
 * both fit.  A slice's maximum is exact; it includes what was live as the slice began.  Times that
 * go back count for the slice that is open.
 */
#ifndef RECORD_HEAP_TIMELINE_H
#define RECORD_HEAP_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/profile.h"

/*
 * At least half of it after TIMELINE_SLICES * TIMELINE_WIDTH_NS, 10 ms: so the file of a short run is
 * hardly smaller than that of a long one.  Doubled, the width becomes a millisecond: so slices fit
 * those of record/moments.h, and both into the rows of a report.
 */
#define TIMELINE_SLICES 80
#define TIMELINE_WIDTH_NS UINT64_C(125000)

struct timeline_now {
	uint64_t live_bytes;
	uint64_t allocations, allocated_bytes; /* so far */
};

/* A zeroed struct is an empty one. */
struct timeline {
	uint64_t end_ns; /* of the open slice; 0: none is */
	uint64_t max_live_bytes;
	uint64_t start_ns, width_ns;
	struct timeline_now before;	  /* as the open slice began */
	VEC(struct profile_slice) slices; /* those before it */
	size_t nr_taken;
	bool merged; /* since they were taken */
};

struct timeline_slices {
	const struct profile_slice *at; /* process is not set; valid until the next change */
	size_t nr;
	bool whole; /* those taken before are no more */
};

void timeline_turn(struct timeline *timeline, const struct timeline_now *now, uint64_t time_ns);
struct timeline_slices timeline_take(struct timeline *timeline, const struct timeline_now *now);
void timeline_release(struct timeline *timeline);

static inline void timeline_note(struct timeline *timeline, uint64_t live_bytes)
{
	if (live_bytes > timeline->max_live_bytes)
		timeline->max_live_bytes = live_bytes;
}

#endif
