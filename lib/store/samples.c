/* SPDX-License-Identifier: MIT */
#include "store/samples.h"

#include <stdlib.h>

#include "base/alloc.h"

static struct profile_total total_of(const struct profile_sample *sample)
{
	double weight = (double)sample->weight;

	return (struct profile_total){ sample->stack,  sample->thread, sample->event, 1,
				       sample->weight, weight * weight };
}

void samples_sum_up(struct profile *profile)
{
	size_t nr = profile->nr_first_samples;

	profile->totals = xreallocarray(NULL, nr, sizeof(*profile->totals));
	profile->nr_totals = nr;
	for (size_t i = 0; i < nr; i++)
		profile->totals[i] = total_of(&profile->first_samples[i].sample);
	for (size_t i = 0; i < profile->nr_sample_sums; i++) {
		const struct profile_sample_sum *sum = &profile->sample_sums[i];
		struct profile_total *total = &profile->totals[sum->first];

		total->samples = sum->samples;
		total->weight = sum->weight;
		total->weight_squared = sum->weight_squared;
	}
}

static int by_time(const void *a, const void *b)
{
	int64_t x = ((const struct profile_sample *)a)->time_us,
		y = ((const struct profile_sample *)b)->time_us;

	return (x > y) - (x < y);
}

void samples_in_time_init(struct samples_in_time *in_time, const struct profile *profile,
			  sample_use use, void *context)
{
	size_t nr = profile->nr_first_samples;
	struct profile_sample *firsts = xreallocarray(NULL, nr, sizeof(*firsts));

	for (size_t i = 0; i < nr; i++)
		firsts[i] = profile->first_samples[i].sample;
	qsort(firsts, nr, sizeof(*firsts), by_time);
	*in_time = (struct samples_in_time){ profile, use, context, firsts, 0 };
}

void samples_in_time_release(struct samples_in_time *in_time)
{
	free(in_time->firsts);
}

static int use_until(struct samples_in_time *in_time, int64_t time_us)
{
	int ret = 0;

	while (!ret && in_time->next < in_time->profile->nr_first_samples &&
	       in_time->firsts[in_time->next].time_us <= time_us)
		ret = in_time->use(in_time->context, &in_time->firsts[in_time->next++]);
	return ret;
}

int samples_use_later(struct samples_in_time *in_time, const struct profile_later_sample *later)
{
	struct profile_sample sample = in_time->profile->first_samples[later->first].sample;
	int ret = use_until(in_time, later->time_us);

	sample.time_us = later->time_us;
	if (later->weight != PROFILE_UNKNOWN)
		sample.weight = later->weight;
	return ret ? ret : in_time->use(in_time->context, &sample);
}

int samples_use_rest(struct samples_in_time *in_time)
{
	return use_until(in_time, INT64_MAX);
}
