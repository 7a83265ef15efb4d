/* SPDX-License-Identifier: MIT */
/*
 * histogram_text - a histogram as it is in the file: "[[16,3],[64,1],[null,2]]".
 *
 * An array of JSON, so that SQL can read it: three blocks up to the bound 16, one up to 64, two
 * beyond.
 */
#ifndef STORE_HISTOGRAM_TEXT_H
#define STORE_HISTOGRAM_TEXT_H

#include "base/arena.h"
#include "store/profile.h"

/* For free(). */
char *histogram_text(const struct profile_histogram *histogram);

/* NULL, or what is wrong.  Bounds grow. */
const char *histogram_read(struct profile_histogram *histogram, const char *text,
			   struct arena *arena);

#endif
