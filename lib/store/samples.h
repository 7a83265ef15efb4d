/* SPDX-License-Identifier: MIT */
/*
 * samples - first samples, later ones and sums (profile.h), put together again.
 *
 *	samples_sum_up(profile);			// fills totals
 *
 *	samples_in_time_init(&in_time, profile, use, context);
 *	while (there is a later one, in the order of time)
 *		samples_use_later(&in_time, later);	// calls use() for the first ones before it, too
 *	samples_use_rest(&in_time);
 *	samples_in_time_release(&in_time);
 *
 * What refers to a first sample has been checked.
 */
#ifndef STORE_SAMPLES_H
#define STORE_SAMPLES_H

#include "store/reader.h"

void samples_sum_up(struct profile *profile);

typedef int (*sample_use)(void *context, const struct profile_sample *sample);

struct samples_in_time {
	const struct profile *profile;
	sample_use use;
	void *context;
	struct profile_sample *firsts; /* in the order of time */
	size_t next;
};

void samples_in_time_init(struct samples_in_time *in_time, const struct profile *profile,
			  sample_use use, void *context);
void samples_in_time_release(struct samples_in_time *in_time);

/* What use() returned, if that was not 0: to be called no more. */
int samples_use_later(struct samples_in_time *in_time, const struct profile_later_sample *later);
int samples_use_rest(struct samples_in_time *in_time);

#endif
