/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "record/ring/merge.h"

static const struct perf_event_header record = { .size = sizeof(record) };

static void add(struct merge *merge, uint64_t time_ns)
{
	merge_add(merge, time_ns, sizeof(record))->header = record;
}

/* The time of the next one that may pass; 0: none. */
static uint64_t next(struct merge *merge)
{
	struct merge_entry *entry = merge_next(merge);
	uint64_t time_ns = entry ? entry->time_ns : 0;

	merge_entry_free(entry);
	return time_ns;
}

Test(merge, gives_all_in_the_order_of_time)
{
	struct merge merge = { 0 };
	uint64_t former = 0, sum = 0, expected = 0;
	unsigned int seed = 7;

	for (int i = 0; i < 10000; i++) {
		uint64_t time_ns = (uint64_t)rand_r(&seed) % 5000 + 1;

		expected += time_ns;
		add(&merge, time_ns);
	}
	merge_end(&merge);
	for (int i = 0; i < 10000; i++) {
		uint64_t time_ns = next(&merge);

		cr_assert(ge(u64, time_ns, former));
		former = time_ns;
		sum += time_ns;
	}
	cr_assert(eq(u64, sum, expected));
	cr_assert(eq(u64, next(&merge), 0));
	cr_assert(eq(u64, merge.nr_late, 0));
	merge_release(&merge);
}

Test(merge, of_the_same_time_the_first_added_comes_first)
{
	struct merge merge = { 0 };
	struct merge_entry *entry;

	for (int i = 0; i < 100; i++)
		merge_add(&merge, 5, sizeof(record))->source = i;
	merge_end(&merge);
	for (int i = 0; i < 100; i++) {
		entry = merge_next(&merge);
		cr_assert(eq(int, entry->source, i));
		merge_entry_free(entry);
	}
	merge_release(&merge);
}

Test(merge, holds_back_what_something_older_may_still_precede)
{
	enum { MS = 1000000 };
	struct merge merge = { 0 };

	merge_round(&merge, 10 * MS);
	add(&merge, 9 * MS);
	cr_assert(eq(u64, next(&merge), 0));

	/* One round later all that is older than the former round's start has been read. */
	merge_round(&merge, 20 * MS);
	add(&merge, 8 * MS);
	add(&merge, 15 * MS);
	cr_assert(eq(u64, next(&merge), 8 * MS));
	cr_assert(eq(u64, next(&merge), 9 * MS));
	cr_assert(eq(u64, next(&merge), 0));
	merge_release(&merge);
}

Test(merge, rounds_in_quick_succession_are_one)
{
	enum { MS = 1000000 };
	struct merge merge = { 0 };

	merge_round(&merge, 10 * MS);
	add(&merge, 10 * MS - 1);
	merge_round(&merge, 10 * MS + 10);
	merge_round(&merge, 10 * MS + 20);
	cr_assert(eq(u64, next(&merge), 0));
	merge_release(&merge);
}

Test(merge, what_comes_too_late_passes_at_once_and_is_counted)
{
	enum { MS = 1000000 };
	struct merge merge = { 0 };

	merge_round(&merge, 10 * MS);
	add(&merge, 9 * MS);
	merge_round(&merge, 20 * MS);
	cr_assert(eq(u64, next(&merge), 9 * MS));

	add(&merge, 3 * MS);
	cr_assert(eq(u64, next(&merge), 3 * MS));
	cr_assert(eq(u64, merge.nr_late, 1));
	merge_release(&merge);
}
