/* SPDX-License-Identifier: MIT */
#include "store/implied.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "store/classes.h"

static uint64_t random_state = 1;

static uint64_t pick(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 20) % below;
}

/* The blocks of a site, and the histograms that they make. */
struct blocks_of_site {
	struct profile_heap_site site;
	uint64_t sizes[SIZE_CLASSES], lifetimes[LIFETIME_CLASSES], lifetime_ns;
	struct profile_class packed_sizes[SIZE_CLASSES], packed_lifetimes[LIFETIME_CLASSES];
};

static struct profile_histogram pack(struct profile_class *to, const uint64_t *blocks,
				     unsigned int nr, uint64_t (*bound)(unsigned int class))
{
	struct profile_histogram histogram = { .at = to };

	for (unsigned int i = 0; i < nr; i++)
		if (blocks[i])
			to[histogram.nr++] = (struct profile_class){ bound(i), blocks[i] };
	return histogram;
}

/* Blocks of at least `least` and less than `least + spread`, bytes as well as nanoseconds. */
static void make(struct blocks_of_site *of, uint64_t nr, uint64_t least, uint64_t spread)
{
	*of = (struct blocks_of_site){ 0 };
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t bytes = least + pick(spread), ns = least + pick(spread);

		of->site.allocations++;
		of->site.allocated_bytes += bytes;
		of->sizes[size_class(bytes)]++;
		of->site.lifetime_blocks++;
		of->lifetime_ns += ns;
		of->lifetimes[lifetime_class(ns)]++;
	}
	of->site.lifetime_us = of->lifetime_ns / 1000;
	of->site.sizes = pack(of->packed_sizes, of->sizes, SIZE_CLASSES, size_class_most);
	of->site.lifetimes = pack(of->packed_lifetimes, of->lifetimes, LIFETIME_CLASSES,
				  lifetime_class_below_us);
}

static void expect_equal(const struct profile_histogram *a, const struct profile_histogram *b)
{
	cr_assert(eq(sz, a->nr, b->nr));
	for (size_t i = 0; i < a->nr; i++) {
		cr_assert(eq(u64, a->at[i].bound, b->at[i].bound));
		cr_assert(eq(u64, a->at[i].blocks, b->at[i].blocks));
	}
}

Test(implied, histograms_are_as_before_when_they_are_filled_in_again)
{
	struct arena arena = { 0 };
	struct blocks_of_site of;
	int left_out = 0, kept = 0;

	for (int i = 0; i < 20000; i++) {
		uint64_t least = pick(2) ? UINT64_C(1) << pick(40) : pick(100000);

		make(&of, pick(5), least, 1 + (pick(2) ? 0 : pick(least + 2)));

		struct profile_heap_site row = of.site;

		implied_leave_out(&row);
		left_out += row.sizes.nr == HISTOGRAM_IMPLIED;
		kept += row.sizes.nr != HISTOGRAM_IMPLIED;
		implied_fill_in(&row, &arena);
		expect_equal(&row.sizes, &of.site.sizes);
		expect_equal(&row.lifetimes, &of.site.lifetimes);
	}
	cr_expect(gt(int, left_out, 10000));
	cr_expect(gt(int, kept, 500));
	arena_release(&arena);
}

Test(implied, one_class_is_always_left_out_and_two_never)
{
	static const struct {
		uint64_t nr, least, spread;
		bool implied;
	} cases[] = {
		{ 0, 0, 1, true },  { 3, 17, 16, true },    { 1000, 513, 512, true },
		{ 7, 0, 17, true }, { 1000, 16, 2, false }, { 1000, 500, 1000, false },
	};
	struct blocks_of_site of;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make(&of, cases[i].nr, cases[i].least, cases[i].spread);
		implied_leave_out(&of.site);
		cr_expect(eq(int, of.site.sizes.nr == HISTOGRAM_IMPLIED, cases[i].implied));
	}
}

/* A file may say anything. */
Test(implied, of_impossible_sums_is_a_possible_class)
{
	struct profile_heap_site site = {
		.allocations = 1,
		.allocated_bytes = UINT64_MAX,
		.lifetime_blocks = 1,
		.lifetime_us = UINT64_MAX,
		.sizes.nr = HISTOGRAM_IMPLIED,
		.lifetimes.nr = HISTOGRAM_IMPLIED,
	};
	struct arena arena = { 0 };

	implied_fill_in(&site, &arena);
	cr_expect(eq(u64, site.sizes.at[0].bound, UINT64_C(16) << (SIZE_CLASSES - 1)));
	cr_expect(eq(u64, site.lifetimes.at[0].bound, LIFETIME_UNBOUNDED));
	arena_release(&arena);
}
