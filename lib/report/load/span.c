/* SPDX-License-Identifier: MIT */
#include "report/load/span.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"

struct work {
	struct totals *totals;
	const struct span *span;
	struct map *index_of; /* by event: stack and thread to index */
};

static struct profile_total *total_of(struct work *w, const struct profile_sample *sample)
{
	bool added;
	uint64_t *index = map_add(&w->index_of[sample->event],
				  map_pair(sample->stack, sample->thread), &added);

	if (added) {
		*index = w->totals->nr;
		vec_push(w->totals, (struct profile_total){ .stack = sample->stack,
							    .thread = sample->thread,
							    .event = sample->event });
	}
	return &w->totals->at[*index];
}

static int add_sample(void *context, const struct profile_sample *sample)
{
	struct work *w = context;
	struct profile_total *total;

	if (sample->time_us < w->span->from_us || sample->time_us >= w->span->to_us)
		return 0;
	total = total_of(w, sample);
	total->samples++;
	total->weight += sample->weight;
	total->weight_squared += (double)sample->weight * (double)sample->weight;
	return 0;
}

int span_totals(struct totals *totals, const struct profile *profile, const struct span *span,
		struct error *err)
{
	struct work w = { totals, span, xcalloc(profile->nr_events + 1, sizeof(struct map)) };
	int ret;

	*totals = (struct totals){ 0 };
	ret = profile_each_sample(profile, add_sample, &w, err);
	for (size_t i = 0; i < profile->nr_events; i++)
		map_release(&w.index_of[i]);
	free(w.index_of);
	return ret;
}
