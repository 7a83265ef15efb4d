/* SPDX-License-Identifier: MIT */
#include "record/aggregate/sampled.h"

#include "base/map.h"

void sampled_init(struct sampled *sampled)
{
	sampled->sums = ROWS(struct profile_sample_sum);
}

void fresh_samples_release(struct fresh_samples *fresh)
{
	vec_free(&fresh->first);
	vec_free(&fresh->later);
}

void sampled_release(struct sampled *sampled)
{
	fresh_samples_release(&sampled->fresh);
	rows_release(&sampled->sums);
	maps_release(&sampled->id_of);
	vec_free(&sampled->firsts);
}

static double square(uint64_t weight)
{
	return (double)weight * (double)weight;
}

static uint32_t add_first(struct sampled *sampled, const struct profile_sample *sample)
{
	uint32_t id = (uint32_t)sampled->firsts.nr;

	vec_push(&sampled->firsts, (struct first){ sample->weight, PROFILE_NONE });
	vec_push(&sampled->fresh.first, (struct profile_first_sample){ id, *sample });
	return id;
}

static struct profile_sample_sum *sum_of(struct sampled *sampled, uint32_t id)
{
	struct first *first = &sampled->firsts.at[id];

	if (first->sum == PROFILE_NONE)
		first->sum = rows_add(&sampled->sums,
				      &(struct profile_sample_sum){ id, 1, first->weight,
								    square(first->weight) });
	return rows_edit(&sampled->sums, first->sum);
}

static void add_later(struct sampled *sampled, uint32_t id, const struct profile_sample *sample)
{
	struct profile_sample_sum *sum = sum_of(sampled, id);
	bool same = sample->weight == sampled->firsts.at[id].weight;

	sum->samples++;
	sum->weight += sample->weight;
	sum->weight_squared += square(sample->weight);
	vec_push(&sampled->fresh.later,
		 (struct profile_later_sample){ sample->time_us, id,
						same ? PROFILE_UNKNOWN : sample->weight });
}

void sampled_add(struct sampled *sampled, const struct profile_sample *sample)
{
	bool added;
	uint64_t *id = map_add(maps_at(&sampled->id_of, sample->event),
			       map_pair(sample->stack, sample->thread), &added);

	if (added)
		*id = add_first(sampled, sample);
	else
		add_later(sampled, (uint32_t)*id, sample);
}
