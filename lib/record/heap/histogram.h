/* SPDX-License-Identifier: MIT */
/*
 * histogram - how many blocks are in which class, for very many sites.
 *
 *	struct histogram sizes = { 0 };
 *
 *	histogram_add(&sizes, size_class(bytes));	// for every event: cheap
 *	histogram_release(&sizes);
 *
 *	uint64_t sum[SIZE_CLASSES] = { 0 };
 *
 *	histogram_sum(&sizes, sum);			// adds
 *
 * The blocks of a site have one size or few: what is kept are the classes from the first to the
 * last one in use.
 */
#ifndef RECORD_HEAP_HISTOGRAM_H
#define RECORD_HEAP_HISTOGRAM_H

#include <stdint.h>

struct histogram {
	uint64_t *at;
	uint8_t first, nr; /* classes */
};

void histogram_release(struct histogram *histogram);

/* The class's place in at[], new. */
unsigned int histogram_widen(struct histogram *histogram, unsigned int class);

static inline void histogram_add(struct histogram *histogram, unsigned int class)
{
	unsigned int i = class - histogram->first;

	if (__builtin_expect(i >= histogram->nr, 0))
		i = histogram_widen(histogram, class);
	histogram->at[i]++;
}

/* Adds to the sums by class; returns the number of all. */
uint64_t histogram_sum(const struct histogram *histogram, uint64_t *sum);

#endif
