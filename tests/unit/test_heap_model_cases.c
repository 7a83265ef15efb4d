/* SPDX-License-Identifier: MIT */
/* The heap model where random programs hardly get: many threads, page faults, and what no correct
 * program does. */
#include "record/heap/model.h"

#include <criterion/criterion.h>

static struct profile_heap figures_of(const struct heap_model *model, uint32_t image)
{
	struct profile_heap f;

	heap_model_figures(model, image, &f);
	return f;
}

static void put(struct heap_model *model, uint32_t lane, enum heap_op op, uint64_t address,
		uint64_t size, uint32_t site)
{
	const struct heap_event event = {
		.address = address, .size = size, .site = site, .lane = lane, .op = op
	};

	heap_model_apply(model, &event, 1);
}

/* A thread that frees what all others allocated, one block of each and two of the last. */
Test(heap_model, keeps_as_many_pairs_of_threads_as_fit_and_the_sum_of_the_others)
{
	struct heap_model *model = heap_model_new();
	uint32_t image = heap_model_image(model), site = heap_model_site(model, image);
	uint32_t taker = heap_model_lane(model, image);
	const int threads = 3000;
	struct profile_heap_site of_site;
	uint64_t pairs = 0;
	bool others = false;

	heap_model_thread(model, taker, 7, true);
	for (int i = 0; i < threads; i++) {
		uint32_t lane = heap_model_lane(model, image);

		heap_model_thread(model, lane, 1000 + i, true);
		put(model, lane, HEAP_ALLOC, 0x1000, 10, site);
		put(model, taker, HEAP_FREE, 0x1000, 0, 0);
	}
	for (size_t i = 0; i < heap_model_nr_handoffs(model, image); i++) {
		struct profile_heap_handoff f = heap_model_handoff(model, image, i);

		pairs += f.frees;
		cr_assert_eq(f.freed_bytes, 10 * f.frees);
		others |= f.from_tid == PROFILE_OTHER_THREADS &&
			  f.to_tid == PROFILE_OTHER_THREADS && f.frees == 3000 - 2048;
	}
	heap_model_site_figures(model, site, &of_site);
	cr_expect_eq(pairs, (uint64_t)threads);
	cr_expect_eq(of_site.cross_thread_frees, (uint64_t)threads);
	cr_expect(others);
	heap_model_free(model);
}

static uint64_t faults_of(const struct heap_model *model, uint32_t site)
{
	struct profile_heap_site f;

	heap_model_site_figures(model, site, &f);
	return f.page_faults;
}

Test(heap_model, charges_page_faults_to_the_block_around_them)
{
	struct heap_model *model = heap_model_new();

	heap_model_follow_faults(model);

	uint32_t image = heap_model_image(model), lane = heap_model_lane(model, image);
	uint32_t small = heap_model_site(model, image), large = heap_model_site(model, image);

	put(model, lane, HEAP_ALLOC, 0x10000, 100, small);
	put(model, lane, HEAP_ALLOC, 0x20010, 0x1000000, large);
	cr_expect(heap_model_fault(model, image, 0x10000 + 99));
	cr_expect_not(heap_model_fault(model, image, 0x10000 + 100), "behind it");
	cr_expect(heap_model_fault(model, image, 0x20008), "what the allocator writes before it");
	cr_expect(heap_model_fault(model, image, 0x20010 + 0xffffff));
	cr_expect_not(heap_model_fault(model, image, 0x20010 + 0x1000000));
	put(model, lane, HEAP_REALLOC_BEGIN, 0x20010, 0, 0);
	cr_expect_not(heap_model_fault(model, image, 0x20010));
	put(model, lane, HEAP_REALLOC_DONE, 0x5000010, 0x2000000, small);
	cr_expect_not(heap_model_fault(model, image, 0x30000));
	cr_expect(heap_model_fault(model, image, 0x5000010 + 0x1ffffff));
	put(model, lane, HEAP_FREE, 0x5000010, 0, 0);
	cr_expect_not(heap_model_fault(model, image, 0x5000010 + 0x1000));
	heap_model_fault_elsewhere(model, image);

	cr_expect_eq(faults_of(model, small), 2);
	cr_expect_eq(faults_of(model, large), 2);
	cr_expect_eq(figures_of(model, image).page_faults, 5);
	heap_model_end(model, image, 0);
	heap_model_free(model);
}

Test(heap_model, does_not_know_of_page_faults_that_nobody_tells_of)
{
	struct heap_model *model = heap_model_new();
	uint32_t image = heap_model_image(model);

	cr_expect_eq(figures_of(model, image).page_faults, PROFILE_UNKNOWN);
	cr_expect_eq(figures_of(model, PROFILE_NONE).page_faults, PROFILE_UNKNOWN);
	heap_model_free(model);
}

/* --- what no correct program does -------------------------------------------------------------*/

Test(heap_model, keeps_what_a_child_has_from_its_parents_apart)
{
	struct heap_model *model = heap_model_new();
	uint32_t parent = heap_model_image(model), child = heap_model_image(model);
	uint32_t grandchild = heap_model_image(model);
	uint32_t site[] = { heap_model_site(model, parent), heap_model_site(model, child) };
	uint32_t lane[] = { heap_model_lane(model, parent), heap_model_lane(model, child),
			    heap_model_lane(model, grandchild) };
	struct profile_heap f;

	for (uint64_t i = 1; i <= 4; i++)
		put(model, lane[0], HEAP_ALLOC, 0x1000 * i, 100 * i, site[0]);
	heap_model_inherit(model, child, heap_model_fork(model, parent));
	put(model, lane[0], HEAP_FREE, 0x1000, 0, 0); /* the parent's only */

	put(model, lane[1], HEAP_FREE, 0x1000, 0, 0);
	put(model, lane[1], HEAP_REALLOC_BEGIN, 0x2000, 0, 0);
	put(model, lane[1], HEAP_REALLOC_DONE, 0x9000, 7, site[1]);
	put(model, lane[1], HEAP_REALLOC_BEGIN, 0x3000, 0, 0);
	put(model, lane[1], HEAP_REALLOC_FAILED, 0, 0, 0);
	put(model, lane[1], HEAP_ALLOC, 0x1000, 50, site[1]);
	heap_model_figures(model, child, &f);
	cr_assert_eq(f.inherited_bytes, 1000);
	cr_assert_eq(f.inherited_frees, 2);
	cr_assert_eq(f.allocations, 2);
	cr_assert_eq(f.frees, 0);
	cr_assert_eq(f.allocated_bytes, 57);
	cr_assert_eq(f.peak_bytes, 57);
	cr_assert_eq(f.unknown_frees, 0);

	heap_model_inherit(model, grandchild, heap_model_fork(model, child));
	heap_model_end(model, child, 0);
	put(model, lane[2], HEAP_FREE, 0x1000, 0, 0);
	put(model, lane[2], HEAP_FREE, 0x3000, 0, 0);
	heap_model_figures(model, grandchild, &f);
	cr_assert_eq(f.inherited_bytes, 57 + 700);
	cr_assert_eq(f.inherited_frees, 2);

	heap_model_figures(model, parent, &f);
	cr_assert_eq(f.live_bytes, 900);
	cr_assert_eq(f.frees, 1);
	heap_model_figures(model, PROFILE_NONE, &f);
	cr_assert_eq(f.live_bytes, 957);
	cr_assert_eq(f.peak_bytes, 1000, "only what is somebody's own");
	heap_model_free(model);
}

Test(heap_model, forgets_an_image_that_held_nothing_at_the_peak)
{
	struct heap_model *model = heap_model_new();
	uint32_t a = heap_model_image(model), b = heap_model_image(model), site, lane;
	struct profile_heap_site s;
	struct profile_heap f;

	site = heap_model_site(model, a);
	lane = heap_model_lane(model, a);
	put(model, lane, HEAP_ALLOC, 0x1000, 100, site);
	cr_assert_not(heap_model_is_settled(model, a), "it lives");
	heap_model_end(model, a, 0);
	cr_assert_not(heap_model_is_settled(model, a), "its block is the peak");

	lane = heap_model_lane(model, b);
	put(model, lane, HEAP_ALLOC, 0x1000, 100, heap_model_site(model, b));
	cr_assert(heap_model_is_settled(model, a), "that of two equal peaks is the later one");
	heap_model_retire(model, a);
	heap_model_figures(model, PROFILE_NONE, &f);
	cr_assert_eq(f.allocations, 2);
	cr_assert_eq(f.live_bytes, 200);
	cr_assert_eq(f.peak_bytes, 100);

	cr_assert_eq(heap_model_image(model), a);
	cr_assert_eq(heap_model_site(model, a), site);
	heap_model_site_figures(model, site, &s);
	cr_assert_eq(s.allocations, 0);
	heap_model_figures(model, a, &f);
	cr_assert_eq(f.allocations, 0);
	heap_model_free(model);
}

Test(heap_model, takes_a_block_allocated_twice_as_freed_in_between)
{
	struct heap_model *model = heap_model_new();
	uint32_t image = heap_model_image(model);
	uint32_t lane = heap_model_lane(model, image);
	uint32_t site = heap_model_site(model, image);
	const struct heap_event events[] = {
		{ .op = HEAP_ALLOC, .address = 0x10, .size = 100, .site = site, .lane = lane },
		{ .op = HEAP_ALLOC, .address = 0x10, .size = 30, .site = site, .lane = lane },
	};

	heap_model_apply(model, events, ARRAY_SIZE(events));

	struct profile_heap f = figures_of(model, image);

	cr_assert_eq(heap_model_duplicates(model, image), 1);
	cr_assert_eq(f.allocations, 2);
	cr_assert_eq(f.frees, 1);
	cr_assert_eq(f.live_bytes, 30);
	cr_assert_eq(f.live_blocks, 1);
	cr_assert_eq(f.peak_bytes, 100);
	cr_assert_not(f.peak_exact, "the first block may have been gone long before");
	heap_model_free(model);
}

Test(heap_model, calls_no_peak_exact_when_events_came_late_or_never)
{
	struct heap_model *model = heap_model_new();
	uint32_t late = heap_model_image(model), lost = heap_model_image(model);
	uint32_t clean = heap_model_image(model);

	cr_assert(figures_of(model, PROFILE_NONE).peak_exact);
	heap_model_late(model, late, 1);
	heap_model_lost(model, lost, 7);

	cr_assert_not(figures_of(model, late).peak_exact);
	cr_assert_not(figures_of(model, lost).peak_exact);
	cr_assert(figures_of(model, clean).peak_exact);
	cr_assert_not(figures_of(model, PROFILE_NONE).peak_exact);
	cr_assert_eq(figures_of(model, PROFILE_NONE).lost_events, 7);
	heap_model_free(model);
}
