/* SPDX-License-Identifier: MIT */
/*
 * moments - how much memory one process had at some moments, in bounded space.
 *
 *	moments_add(&moments, &memory);			// in the order of time
 *	taken = moments_take(&moments, at_last);	// those that are new
 *
 * Of several moments in one stretch of time the one with the most resident memory is kept.  The
 * stretches are short at first; when there are too many, they are doubled.  The last moment is not
 * taken before the next stretch has begun, except at last.
 */
#ifndef RECORD_MOMENTS_H
#define RECORD_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/profile.h"

#define MOMENTS_KEPT 1024

/* A zeroed struct is an empty one. */
struct moments {
	int64_t width_us;
	VEC(struct profile_memory) points;
	size_t nr_taken;
	bool merged; /* since they were taken */
};

struct moments_taken {
	const struct profile_memory *at; /* valid until the next change */
	size_t nr;
	bool whole; /* those taken before are no more */
};

void moments_add(struct moments *moments, const struct profile_memory *memory);
struct moments_taken moments_take(struct moments *moments, bool at_last);
void moments_release(struct moments *moments);

#endif
