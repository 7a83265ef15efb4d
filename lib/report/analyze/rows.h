/* SPDX-License-Identifier: MIT */
/*
 * rows - a list of results of one kind, in the order and number they are shown in.
 *
 * The analyses own the results and fill the rows with pointers to them; ordering and shortening
 * a list moves pointers only.  A figure is a number that may be absent, then for a stated reason.
 */
#ifndef REPORT_ANALYZE_ROWS_H
#define REPORT_ANALYZE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "store/profile.h"

struct rows {
	const void **at;
	size_t nr, room;
	size_t too_small, left_out; /* by --min, then by --limit */
	const char *absent;	    /* why they are not known; NULL: these are all there are */
};

/* As few texts belong together: a command line, a stack. */
struct texts {
	const char *const *at;
	size_t nr;
};

struct figure {
	double value;
	const char *absent; /* why there is no value; NULL: there is one */
};

#define FIGURE(number) ((struct figure){ .value = (number) })
#define FIGURE_ABSENT(reason) ((struct figure){ .absent = (reason) })

/* absent: why there is no value; NULL: there is one. */
static inline struct figure figure_or_absent(const char *absent, double value)
{
	return absent ? FIGURE_ABSENT(absent) : FIGURE(value);
}

static inline struct figure time_figure(int64_t time_us)
{
	return time_us == PROFILE_NO_TIME ? FIGURE_ABSENT("not known")
					  : FIGURE((double)time_us / 1e6);
}

/* The reason of a maximum that is not the sum of the processes' maxima. */
#define NO_COMMON_PEAK "the peaks of several processes are not of one moment"

#endif
