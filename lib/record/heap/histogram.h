/* SPDX-License-Identifier: MIT */
/*
 * histogram - how many blocks are in which class of sizes, for very many sites.
 *
 *	struct histogram sizes = { 0 };
 *
 *	histogram_add(&sizes, bytes, slack);		// for every event: cheap
 *	for (i = 0; i < sizes.nr; i++)
 *		use(sizes.first + i, sizes.at[i].blocks);
 *	histogram_release(&sizes);
 *
 * The blocks of a site have one size or few: what is kept are the classes from the first to the
 * last one in use.
 */
#ifndef RECORD_HEAP_HISTOGRAM_H
#define RECORD_HEAP_HISTOGRAM_H

#include <stdint.h>

#include "store/classes.h"

struct histogram_sum {
	uint64_t blocks, bytes, slack_bytes;
};

struct histogram {
	struct histogram_sum *at;
	uint8_t first, nr; /* classes */
};

void histogram_release(struct histogram *histogram);

/* The class's place in at[], new. */
unsigned int histogram_widen(struct histogram *histogram, unsigned int class);

static inline void histogram_add(struct histogram *histogram, uint64_t bytes, uint64_t slack)
{
	unsigned int class = size_class(bytes), i = class - histogram->first;

	if (__builtin_expect(i >= histogram->nr, 0))
		i = histogram_widen(histogram, class);

	struct histogram_sum *sum = &histogram->at[i];

	sum->blocks++;
	sum->bytes += bytes;
	sum->slack_bytes += slack;
}

#endif
