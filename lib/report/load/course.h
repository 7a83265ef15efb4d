/* SPDX-License-Identifier: MIT */
/*
 * course - where the rows over time of one process are, among those of all.
 *
 *	struct course course = course_of_slices(profile, process);	// PROFILE_NONE: the tree
 *
 *	for (size_t i = course.from; i < course.to; i++)
 *		use(&profile->slices[i]);				// in the order of time
 */
#ifndef REPORT_LOAD_COURSE_H
#define REPORT_LOAD_COURSE_H

#include <stddef.h>

#include "store/reader.h"

struct course {
	size_t from, to;
};

struct course course_of_slices(const struct profile *profile, uint32_t process);
struct course course_of_memory(const struct profile *profile, uint32_t process);

#endif
