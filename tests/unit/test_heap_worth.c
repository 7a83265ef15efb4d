/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "record/heap/model.h"
#include "record/heap/worth.h"
#include "shim/sampler.h"

#define MEAN 4096

static const uint64_t sizes[] = { 0, 1, 16, 100, MEAN / 2, MEAN, 3 * MEAN, 8 * MEAN, 39 * MEAN };

#define NR_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* So the mean of an estimate is what is estimated, whatever the size. */
Test(heap_worth, a_block_counts_as_often_as_it_is_rarely_drawn)
{
	for (size_t i = 0; i < NR_SIZES; i++) {
		uint64_t bytes = sizes[i] ? sizes[i] : 1;
		double p = -expm1(-(double)bytes / MEAN);
		struct worth worth = worth_of(worth_weight(sizes[i], MEAN), sizes[i]);

		cr_expect(epsilon_eq(dbl, p * (double)worth.blocks / (1 << WORTH_BLOCK_BITS), 1,
				     1e-6));
		if (sizes[i])
			cr_expect(epsilon_eq(dbl,
					     p * (double)worth.bytes / (1 << WORTH_BYTE_BITS) /
						     (double)sizes[i],
					     1, 1e-6));
	}
}

Test(heap_worth, huge_blocks_are_no_more_than_themselves)
{
	uint64_t size = (UINT64_C(1) << 47) - 1;
	struct worth worth = worth_of(worth_weight(worth_size_limit(MEAN), MEAN), size);

	cr_expect(eq(u64, worth_blocks(worth.blocks), 1));
	cr_expect(eq(u64, worth_bytes(worth.bytes), size));
}

/* As the shim draws them and the model adds them up.  The seed is fixed: no matter of luck. */
Test(heap_worth, estimates_of_blocks_of_one_size_are_within_four_standard_errors)
{
	for (size_t i = 0; i < NR_SIZES; i++) {
		const unsigned int nr = 200000;
		uint64_t weight = worth_weight(sizes[i], MEAN), hits = 0, sum = 0;
		struct sampler sampler;

		sampler_init(&sampler, MEAN, i);
		for (unsigned int block = 0; block < nr; block++)
			hits += sampler_hits(&sampler, sizes[i]);
		for (uint64_t hit = 0; hit < hits; hit++)
			sum += worth_of(weight, sizes[i]).blocks;

		double error = sqrt(worth_blocks_variance(weight, hits));
		double off = (double)sum / (1 << WORTH_BLOCK_BITS) - nr;

		cr_expect(le(dbl, fabs(off), 4 * error + 1), "size %llu: %g, error %g",
			  (unsigned long long)sizes[i], off, error);
		cr_expect(epsilon_eq(dbl, sqrt(worth_bytes_variance(weight, hits, hits * sizes[i])),
				     error * (double)sizes[i],
				     1e-6 * error * (double)sizes[i] + 1e-9));
	}
}

/* Two sizes at one image, one block each of the sample: what the model makes of them. */
Test(heap_worth, a_model_of_a_sample_adds_up_what_blocks_stand_for)
{
	struct heap_model *model = heap_model_new();
	struct profile_heap heap;
	struct profile_heap_site site;

	heap_model_is_sample(model);
	uint32_t image = heap_model_image(model), lane = heap_model_lane(model, image);
	uint32_t small = heap_model_site(model, image), large = heap_model_site(model, image);
	const struct heap_event events[] = {
		{ .op = HEAP_ALLOC, .address = 16, .size = 100, .site = small, .lane = lane },
		{ .op = HEAP_ALLOC, .address = 32, .size = MEAN, .site = large, .lane = lane },
		{ .op = HEAP_OTHERS, .address = 32, .lane = lane },
		{ .op = HEAP_FREE, .address = 32, .time_ns = 50, .lane = lane },
		{ .op = HEAP_ALLOC, .address = 48, .size = MEAN, .site = large, .lane = lane },
		{ .op = HEAP_FREE, .address = 48, .time_ns = 90, .lane = lane },
		{ .op = HEAP_REALLOC_BEGIN, .address = 16, .lane = lane },
		{ .op = HEAP_REALLOC_LEFT, .address = 64, .lane = lane },
		{ .op = HEAP_REALLOC_CAME,
		  .address = 64,
		  .size = MEAN,
		  .site = large,
		  .lane = lane },
	};

	heap_model_weigh(model, small, worth_weight(100, MEAN));
	heap_model_weigh(model, large, worth_weight(MEAN, MEAN));
	heap_model_apply(model, events, sizeof(events) / sizeof(events[0]));
	heap_model_figures(model, image, &heap);

	/* 1 / (1 - exp(-100 / 4096)) = 41.46; 1 / (1 - 1 / e) = 1.58198 */
	cr_expect(eq(u64, heap.allocations, 45));
	cr_expect(eq(u64, heap.frees, 3));
	cr_expect(eq(u64, heap.reallocations, 2));
	cr_expect(eq(u64, heap.temporary, 2));
	cr_expect(eq(u64, heap.peak_bytes, 4146 + 6480));
	cr_expect(eq(u64, heap.live_bytes, 6480));
	cr_expect(eq(u64, heap.freed_bytes, 2 * 6480 + 4146));
	cr_expect(eq(u64, heap.live_blocks, 2));
	cr_expect(not(heap.peak_exact));
	cr_expect(epsilon_eq(dbl, sqrt(heap.live_variance), MEAN * sqrt(1.58198 * 0.58198), 0.1));

	heap_model_site_figures(model, large, &site);
	cr_expect(eq(u64, worth_blocks(site.allocations), 3));
	cr_expect(eq(u64, worth_blocks(site.reallocations), 2));
	cr_expect(eq(u64, worth_bytes(site.live_bytes), 6480));
	heap_model_free(model);
}
