/* SPDX-License-Identifier: MIT */
/*
 * The timeline against brute force: every change is remembered, and each slice is compared with
 * what the changes within it amount to.
 */
#include "record/heap/timeline.h"

#include <criterion/criterion.h>

#include "base/alloc.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define HOUR (3600 * S)

struct change {
	uint64_t time_ns, live, allocations, allocated; /* after it */
};

struct history {
	VEC(struct change) changes;
	struct timeline timeline;
	struct timeline_now now;
	VEC(struct profile_slice) file; /* as a file would have it */
};

static void change(struct history *h, uint64_t time_ns, int64_t bytes)
{
	if (time_ns >= h->timeline.end_ns)
		timeline_turn(&h->timeline, &h->now, time_ns);
	h->now.live_bytes += (uint64_t)bytes;
	timeline_note(&h->timeline, h->now.live_bytes);
	if (bytes > 0) {
		h->now.allocations++;
		h->now.allocated_bytes += (uint64_t)bytes;
	}
	vec_push(&h->changes, (struct change){ time_ns, h->now.live_bytes, h->now.allocations,
					       h->now.allocated_bytes });
}

static void put_slice(struct history *h, const struct profile_slice *slice)
{
	vec_each(&h->file, there) if (there->time_us == slice->time_us)
	{
		*there = *slice;
		return;
	}
	vec_push(&h->file, *slice);
}

static void take(struct history *h)
{
	struct timeline_slices slices = timeline_take(&h->timeline, &h->now);

	if (slices.whole)
		h->file.nr = 0;
	for (size_t i = 0; i < slices.nr; i++)
		put_slice(h, &slices.at[i]);
}

/* By looking at all changes there were. */
static struct profile_slice truth(const struct history *h, int64_t time_us, uint64_t duration_us)
{
	struct profile_slice slice = { .time_us = time_us, .duration_us = duration_us };
	struct change before = { 0 }, last = { 0 };

	vec_each(&h->changes, c)
	{
		uint64_t us = c->time_ns / 1000;

		if (us < (uint64_t)time_us) {
			before = last = *c;
			slice.max_live_bytes = c->live;
		} else if (us < (uint64_t)time_us + duration_us) {
			last = *c;
			if (c->live > slice.max_live_bytes)
				slice.max_live_bytes = c->live;
		}
	}
	slice.live_bytes = last.live;
	slice.allocations = last.allocations - before.allocations;
	slice.allocated_bytes = last.allocated - before.allocated;
	return slice;
}

static void compare(const struct history *h)
{
	uint64_t allocations = 0;

	cr_assert_leq(h->file.nr, TIMELINE_SLICES);
	for (size_t i = 0; i < h->file.nr; i++) {
		const struct profile_slice *slice = &h->file.at[i];
		struct profile_slice expected = truth(h, slice->time_us, slice->duration_us);

		cr_assert_eq(slice->live_bytes, expected.live_bytes);
		cr_assert_eq(slice->max_live_bytes, expected.max_live_bytes);
		cr_assert_eq(slice->allocations, expected.allocations);
		cr_assert_eq(slice->allocated_bytes, expected.allocated_bytes);
		cr_assert_eq(slice->time_us % (int64_t)slice->duration_us, 0);
		cr_assert_eq(slice->duration_us, h->file.at[0].duration_us);
		allocations += slice->allocations;
	}
	cr_assert_eq(allocations, h->now.allocations);
}

static void release(struct history *h)
{
	timeline_release(&h->timeline);
	vec_free(&h->changes);
	vec_free(&h->file);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Gaps between changes are anything up to this. */
static void run(uint64_t seed, uint64_t most_ns, int nr)
{
	struct history h = { 0 };
	uint64_t time_ns = 0;

	for (int i = 0; i < nr; i++) {
		time_ns += next_random(&seed) % (next_random(&seed) % 8 ? most_ns / 50 : most_ns);
		if (h.now.live_bytes > 5000)
			change(&h, time_ns, -(int64_t)(next_random(&seed) % 5000));
		else
			change(&h, time_ns, (int64_t)(1 + next_random(&seed) % 3000));
		if (next_random(&seed) % 400 == 0)
			take(&h);
	}
	take(&h);
	compare(&h);
	release(&h);
}

Test(timeline, equals_brute_force_on_short_runs)
{
	for (uint64_t seed = 1; seed <= 40; seed++)
		run(seed, 5 * MS, 300);
}

Test(timeline, equals_brute_force_where_slices_are_merged_again_and_again)
{
	for (uint64_t seed = 1; seed <= 8; seed++)
		run(seed, 80 * MS, 4000);
}

Test(timeline, equals_brute_force_over_weeks)
{
	for (uint64_t seed = 1; seed <= 8; seed++)
		run(seed, HOUR, 4000);
}

/* A change a millisecond for three days. */
Test(timeline, has_bounded_size_and_keeps_the_maximum_of_a_run_of_days)
{
	struct timeline timeline = { 0 };
	struct timeline_now now = { 0 };
	const uint64_t peak_ns = 50 * HOUR + 12345 * MS;
	uint64_t max = 0, allocations = 0;

	for (uint64_t ns = 0; ns < 72 * HOUR; ns += MS) {
		if (ns >= timeline.end_ns)
			timeline_turn(&timeline, &now, ns);
		now.live_bytes = ns == peak_ns ? 1000000 : ns / MS % 1000;
		now.allocations++;
		timeline_note(&timeline, now.live_bytes);
		cr_assert_leq(timeline.slices.nr, TIMELINE_SLICES);
	}

	struct timeline_slices slices = timeline_take(&timeline, &now);

	cr_assert_gt(slices.nr, TIMELINE_SLICES / 2);
	for (size_t i = 0; i < slices.nr; i++) {
		const struct profile_slice *slice = &slices.at[i];
		uint64_t start_ns = (uint64_t)slice->time_us * 1000;
		bool at_peak =
			start_ns <= peak_ns && peak_ns - start_ns < slice->duration_us * 1000;

		max = slice->max_live_bytes > max ? slice->max_live_bytes : max;
		allocations += slice->allocations;
		cr_assert_eq(slice->max_live_bytes, at_peak ? 1000000 : 999);
	}
	cr_assert_eq(max, 1000000);
	cr_assert_eq(allocations, now.allocations);
	timeline_release(&timeline);
}

Test(timeline, counts_what_was_live_as_a_slice_begins)
{
	struct history h = { 0 };

	change(&h, 0, 500);
	change(&h, 10 * MS, -400);
	take(&h);

	cr_assert_eq(h.file.nr, 2);
	cr_assert_eq(h.file.at[1].time_us, 10000);
	cr_assert_eq(h.file.at[1].max_live_bytes, 500);
	cr_assert_eq(h.file.at[1].live_bytes, 100);
	release(&h);
}

Test(timeline, counts_times_that_go_back_for_the_open_slice)
{
	struct history h = { 0 };

	change(&h, 20 * MS, 500);
	change(&h, 3 * MS, 100);
	take(&h);

	cr_assert_eq(h.file.nr, 1);
	cr_assert_eq(h.file.at[0].time_us, 20000);
	cr_assert_eq(h.file.at[0].allocations, 2);
	release(&h);
}

Test(timeline, bears_times_at_the_end_of_the_clock)
{
	struct history h = { 0 };

	change(&h, 5 * MS, 1);
	change(&h, UINT64_MAX - 1, 1);
	change(&h, UINT64_MAX, 1);
	change(&h, UINT64_MAX, 1);
	for (uint64_t i = 1; i < 3000; i++)
		change(&h, UINT64_MAX / 3000 * i, 1);
	take(&h);

	uint64_t allocations = 0;

	vec_each(&h.file, slice) allocations += slice->allocations;
	cr_assert_eq(allocations, 4 + 2999);
	release(&h);
}

Test(timeline, of_nothing_is_empty)
{
	struct timeline timeline = { 0 };
	struct timeline_now now = { 0 };

	cr_assert_eq(timeline_take(&timeline, &now).nr, 0);
	timeline_release(&timeline);
}
