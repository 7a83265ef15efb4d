/* SPDX-License-Identifier: MIT */
/*
 * unsampled - what was counted of the leading event and is in no sample.
 *
 *	unsampled_find(&unsampled, profile);
 *	if (unsampled_is_material(&unsampled))
 *		tell(unsampled.samples, unsampled.nr_silent);
 *
 * The kernel gives each thread that is started a whole period up to its first sample.  A thread that
 * ends before has none, any other one lacks half a period on average: nothing to speak of, unless
 * threads, or processes, are about as short as a period.
 *
 * Where more is missing of a clock, its interrupts came late, after further ones were due: a virtual
 * CPU that does not run has none.
 */
#ifndef REPORT_ANALYZE_UNSAMPLED_H
#define REPORT_ANALYZE_UNSAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "store/reader.h"

/* All 0: not known, as where the kernel lost or left out samples for other reasons. */
struct unsampled {
	double period;	     /* in the unit of the event */
	double samples;	     /* so many are missing */
	double share;	     /* of all that was counted */
	bool late;	     /* more than short threads can lack */
	uint64_t nr_threads; /* that there were */
	uint64_t nr_silent;  /* without a sample */
};

/* Of the whole recording. */
void unsampled_find(struct unsampled *unsampled, const struct profile *profile);
bool unsampled_is_material(const struct unsampled *unsampled);

#endif
