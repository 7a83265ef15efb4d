/* SPDX-License-Identifier: MIT */
#include "report/analyze/thread_starts.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"

const char **thread_starts(const struct profile *profile, struct heap_places *places,
			   const struct selection *selection)
{
	const char **starts = xcalloc(profile->nr_threads + 1, sizeof(starts[0]));
	uint64_t *most = xcalloc(profile->nr_threads + 1, sizeof(most[0]));
	struct map samples = { 0 }; /* by thread and function */

	for (size_t i = 0; i < selection->nr_totals; i++) {
		const struct profile_total *total = &selection->totals[i];
		uint32_t function;
		uint64_t *nr;

		if (total->event != 0)
			continue;
		function = heap_places_start(places, total->stack);
		if (function == PROFILE_NONE)
			continue;
		nr = map_add(&samples, map_pair(total->thread, function), NULL);
		*nr += total->samples;
		if (*nr > most[total->thread]) {
			most[total->thread] = *nr;
			starts[total->thread] = places->chains->functions[function].name;
		}
	}
	map_release(&samples);
	free(most);
	return starts;
}
