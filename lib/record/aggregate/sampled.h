/* SPDX-License-Identifier: MIT */
/*
 * sampled - the samples of each stack, thread and event: the first one, later ones, their sum.
 *
 * The part of the aggregate that says as which rows samples are written (store/profile.h).  Not
 * locked.  Samples never change, so only those not passed on yet are kept, in fresh; sums are rows.
 */
#ifndef RECORD_AGGREGATE_SAMPLED_H
#define RECORD_AGGREGATE_SAMPLED_H

#include "base/vec.h"
#include "record/aggregate/maps.h"
#include "record/aggregate/rows.h"
#include "store/profile.h"

struct fresh_samples {
	VEC(struct profile_first_sample) first;
	VEC(struct profile_later_sample) later;
};

/* What later samples need of a first one. */
struct first {
	uint64_t weight;
	uint32_t sum; /* row of sums; PROFILE_NONE while it is the only one */
};

struct sampled {
	struct fresh_samples fresh; /* the caller may take it over and zero it */
	struct rows sums;
	struct maps id_of; /* by event: stack, thread -> id of the first sample */
	VEC(struct first) firsts;
};

void sampled_init(struct sampled *sampled);
void sampled_release(struct sampled *sampled);
void fresh_samples_release(struct fresh_samples *fresh);

void sampled_add(struct sampled *sampled, const struct profile_sample *sample);

#endif
