/* SPDX-License-Identifier: MIT */
#include "record/heap/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void histogram_release(struct histogram *histogram)
{
	free(histogram->at);
	*histogram = (struct histogram){ 0 };
}

unsigned int histogram_widen(struct histogram *histogram, unsigned int class)
{
	unsigned int first = histogram->first, end = first + histogram->nr;
	unsigned int lower = histogram->nr && first < class ? first : class;
	unsigned int upper = histogram->nr && end > class ? end : class + 1;
	struct histogram_sum *at = xcalloc(upper - lower, sizeof(*at));

	if (histogram->nr)
		memcpy(at + first - lower, histogram->at, histogram->nr * sizeof(*at));
	free(histogram->at);
	*histogram = (struct histogram){ at, (uint8_t)lower, (uint8_t)(upper - lower) };
	return class - lower;
}
