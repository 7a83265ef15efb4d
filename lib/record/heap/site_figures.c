/* SPDX-License-Identifier: MIT */
#include "record/heap/site_figures.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/map.h"
#include "record/heap/worth.h"

enum unit {
	BLOCKS,
	BYTES,
	TIME,  /* of blocks, summed */
	MOVES, /* not of a sample */
};

struct counter {
	size_t offset;
	enum unit unit;
};

#define COUNTER(field, unit)                                    \
	{                                                       \
		offsetof(struct profile_heap_site, field), unit \
	}
#define VARIANCE(field) offsetof(struct profile_heap_site, field)

static const struct counter counters[] = {
	COUNTER(allocations, BLOCKS),
	COUNTER(frees, BLOCKS),
	COUNTER(reallocations, BLOCKS),
	COUNTER(allocated_bytes, BYTES),
	COUNTER(freed_bytes, BYTES),
	COUNTER(at_peak_bytes, BYTES),
	COUNTER(at_peak_blocks, BLOCKS),
	COUNTER(at_tree_peak_bytes, BYTES),
	COUNTER(at_tree_peak_blocks, BLOCKS),
	COUNTER(live_bytes, BYTES),
	COUNTER(live_blocks, BLOCKS),
	COUNTER(temporary, BLOCKS),
	COUNTER(cross_thread_frees, BLOCKS),
	COUNTER(lifetime_us, TIME),
	COUNTER(lifetime_blocks, BLOCKS),
	COUNTER(page_faults, BLOCKS),
	COUNTER(moved, MOVES),
	COUNTER(copied_bytes, MOVES),
	COUNTER(at_peak_slack_bytes, BYTES),
	COUNTER(at_tree_peak_slack_bytes, BYTES),
};

static const size_t variances[] = {
	VARIANCE(allocations_variance),	 VARIANCE(allocated_variance), VARIANCE(at_peak_variance),
	VARIANCE(at_tree_peak_variance), VARIANCE(live_variance),
};

static uint64_t *counter_of(struct profile_heap_site *figures, size_t i)
{
	return (uint64_t *)((char *)figures + counters[i].offset);
}

static uint64_t count_of(const struct profile_heap_site *figures, size_t i)
{
	return *(const uint64_t *)((const char *)figures + counters[i].offset);
}

void site_figures_add(struct profile_heap_site *sum, const struct profile_heap_site *figures)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		*counter_of(sum, i) += count_of(figures, i);
	for (size_t i = 0; i < ARRAY_SIZE(variances); i++)
		*(double *)((char *)sum + variances[i]) +=
			*(const double *)((const char *)figures + variances[i]);
}

static uint64_t scaled(uint64_t count, enum unit unit, uint64_t weight)
{
	switch (unit) {
	case BLOCKS:
		return count * weight;
	case BYTES:
		return worth_of(weight, count).bytes;
	case TIME:
		return (uint64_t)((unsigned __int128)count * weight >> WORTH_BLOCK_BITS);
	default:
		return count;
	}
}

void site_figures_scale(struct profile_heap_site *figures, uint64_t weight)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		*counter_of(figures, i) = scaled(count_of(figures, i), counters[i].unit, weight);
}

void site_figures_round(struct profile_heap_site *figures)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		uint64_t *counter = counter_of(figures, i);

		if (counters[i].unit == BLOCKS)
			*counter = worth_blocks(*counter);
		else if (counters[i].unit == BYTES)
			*counter = worth_bytes(*counter);
	}
}

uint64_t site_figures_checksum(const struct profile_heap_site *figures)
{
	uint64_t sum = 1;

	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		sum = map_hash(sum ^ count_of(figures, i)) + i;
	return sum | 1;
}
