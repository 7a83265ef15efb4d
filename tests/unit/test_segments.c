/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"
#include "symbolize/segments.h"

struct range {
	uint64_t start, end;
	uint32_t value;
};

static struct segments built(const struct range *ranges, size_t nr)
{
	struct segments segments = { 0 };

	for (size_t i = 0; i < nr; i++)
		segments_add(&segments, ranges[i].start, ranges[i].end, ranges[i].value);
	segments_build(&segments);
	return segments;
}

Test(segments, nothing_is_found_in_none)
{
	struct segments segments = built(NULL, 0);

	cr_assert(eq(u32, segments_find(&segments, 0x10), SEGMENT_NONE));
	segments_release(&segments);
}

Test(segments, the_innermost_range_wins_and_the_outer_one_goes_on_after_it)
{
	const struct range ranges[] = {
		{ 10, 50, 1 }, { 20, 40, 2 }, { 30, 40, 3 }, { 60, 70, 4 }
	};
	struct segments segments = built(ranges, ARRAY_SIZE(ranges));

	cr_assert(eq(u32, segments_find(&segments, 9), SEGMENT_NONE));
	cr_assert(eq(u32, segments_find(&segments, 10), 1));
	cr_assert(eq(u32, segments_find(&segments, 20), 2));
	cr_assert(eq(u32, segments_find(&segments, 39), 3));
	cr_assert(eq(u32, segments_find(&segments, 40), 1));
	cr_assert(eq(u32, segments_find(&segments, 50), SEGMENT_NONE));
	cr_assert(eq(u32, segments_find(&segments, 69), 4));
	cr_assert(eq(u32, segments_find(&segments, 70), SEGMENT_NONE));
	segments_release(&segments);
}

Test(segments, of_equal_ranges_the_one_added_later_wins)
{
	const struct range ranges[] = { { 10, 20, 1 }, { 10, 20, 2 } };
	struct segments segments = built(ranges, ARRAY_SIZE(ranges));

	cr_assert(eq(u32, segments_find(&segments, 15), 2));
	segments_release(&segments);
}

Test(segments, a_piece_starts_where_the_one_before_ends)
{
	const struct range ranges[] = { { 10, 20, 1 }, { 30, 40, 2 } };
	struct segments segments = built(ranges, ARRAY_SIZE(ranges));

	cr_assert(eq(u64, segments_start(&segments, 5), 0));
	cr_assert(eq(u64, segments_start(&segments, 25), 20));
	cr_assert(eq(u64, segments_start(&segments, 35), 30));
	segments_release(&segments);
}

/* Of the ranges around the address: that which starts last, then ends first, then came last. */
static uint32_t brute_force(const struct range *ranges, size_t nr, uint64_t address)
{
	const struct range *best = NULL;

	for (const struct range *r = ranges; r < ranges + nr; r++)
		if (r->start <= address && address < r->end &&
		    (!best || r->start > best->start ||
		     (r->start == best->start && r->end <= best->end)))
			best = r;
	return best ? best->value : SEGMENT_NONE;
}

Test(segments, agree_with_brute_force_on_any_ranges)
{
	struct range ranges[12];
	unsigned int seed = 1;

	for (int round = 0; round < 2000; round++) {
		size_t nr = (size_t)rand_r(&seed) % ARRAY_SIZE(ranges);

		for (size_t i = 0; i < nr; i++) {
			uint64_t start = (uint64_t)rand_r(&seed) % 30;

			ranges[i] = (struct range){ start, start + (uint64_t)rand_r(&seed) % 12,
						    (uint32_t)i };
		}
		struct segments segments = built(ranges, nr);
		for (uint64_t address = 0; address < 45; address++)
			cr_assert(eq(u32, segments_find(&segments, address),
				     brute_force(ranges, nr, address)),
				  "round %d, address %lu", round, (unsigned long)address);
		segments_release(&segments);
	}
}
