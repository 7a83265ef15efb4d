/* SPDX-License-Identifier: MIT */
/*
 * course - moments of the memory of one process, in bounded space.
 *
 *	course_add(&course, &memory);			// in the order of time
 *	points = course_take(&course, at_last);		// those that are new since the last time
 *
 * Of several moments in one stretch of time the one with the most resident memory is kept.  The
 * stretches are short at first; when there are too many, they are doubled.  The last moment is not
 * taken before the next stretch has begun, except at last.
 */
#ifndef RECORD_COURSE_H
#define RECORD_COURSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/profile.h"

#define COURSE_POINTS 1024

/* A zeroed struct is an empty one. */
struct course {
	int64_t width_us;
	VEC(struct profile_memory) points;
	size_t nr_taken;
	bool merged; /* since they were taken */
};

struct course_points {
	const struct profile_memory *at; /* valid until the next change */
	size_t nr;
	bool whole; /* those taken before are no more */
};

void course_add(struct course *course, const struct profile_memory *memory);
struct course_points course_take(struct course *course, bool at_last);
void course_release(struct course *course);

#endif
