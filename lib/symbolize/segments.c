/* SPDX-License-Identifier: MIT */
#include "symbolize/segments.h"

#include "base/search.h"

void segments_add(struct segments *segments, uint64_t start, uint64_t end, uint32_t value)
{
	struct segment_range range = {
		.start = start,
		.end = end,
		.value = value,
		.order = (uint32_t)segments->ranges.nr,
	};

	if (start < end)
		vec_push(&segments->ranges, range);
}

static int outer_first(const void *left, const void *right)
{
	const struct segment_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static void cut(struct segments *segments, uint64_t start, uint32_t value)
{
	if (segments->at.nr && vec_last(&segments->at)->start == start) {
		vec_last(&segments->at)->value = value;
		return;
	}
	if (segments->at.nr && vec_last(&segments->at)->value == value)
		return;
	vec_push(&segments->at, (struct segment){ start, value });
}

/* The ranges around the one being looked at, innermost last. */
struct open_ranges {
	VEC(struct segment_range) at;
};

/* Ends the ranges that end before the address; what is left around them goes on. */
static void close_until(struct segments *segments, struct open_ranges *open, uint64_t address)
{
	while (open->at.nr && vec_last(&open->at)->end <= address) {
		uint64_t end = vec_last(&open->at)->end;

		while (open->at.nr && vec_last(&open->at)->end <= end)
			open->at.nr--;
		cut(segments, end, open->at.nr ? vec_last(&open->at)->value : SEGMENT_NONE);
	}
}

void segments_build(struct segments *segments)
{
	struct open_ranges open = { 0 };

	if (segments->ranges.nr)
		qsort(segments->ranges.at, segments->ranges.nr, sizeof(segments->ranges.at[0]),
		      outer_first);
	vec_each(&segments->ranges, range)
	{
		close_until(segments, &open, range->start);
		cut(segments, range->start, range->value);
		vec_push(&open.at, *range);
	}
	close_until(segments, &open, UINT64_MAX);
	vec_free(&open.at);
	vec_free(&segments->ranges);
}

/* The number of pieces that start at or below the address. */
static size_t nr_started(const struct segments *segments, uint64_t address)
{
	return search_count(segments->at.nr, i, segments->at.at[i].start <= address);
}

uint32_t segments_find(const struct segments *segments, uint64_t address)
{
	size_t started = nr_started(segments, address);

	return started ? segments->at.at[started - 1].value : SEGMENT_NONE;
}

uint64_t segments_start(const struct segments *segments, uint64_t address)
{
	size_t started = nr_started(segments, address);

	return started ? segments->at.at[started - 1].start : 0;
}

void segments_release(struct segments *segments)
{
	vec_free(&segments->ranges);
	vec_free(&segments->at);
}
