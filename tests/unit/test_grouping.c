/* SPDX-License-Identifier: MIT */
#include "stat/grouping.h"

#include <stdio.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/* A PMU with as many counters as *context says, any event on any counter. */
static bool has_counters(void *context, const struct grouping_set *group)
{
	return group->nr <= *(size_t *)context;
}

#define SET(...)                                                                          \
	((struct grouping_set){ .events = { __VA_ARGS__ },                                \
				.nr = sizeof((size_t[]){ __VA_ARGS__ }) / sizeof(size_t), \
				.whole = false })

static const struct grouping_set nothing;

/* "0 1 2 | 0 1 3": the groups as text. */
static const char *groups_of(size_t nr_counters, const struct grouping_set *anchor,
			     const struct grouping_set *sets, size_t nr_sets)
{
	static char text[256];
	struct grouping groups = { 0 };
	size_t length = 0;

	text[0] = '\0';
	grouping_make(&groups, anchor, sets, nr_sets, has_counters, &nr_counters);
	for (size_t i = 0; i < groups.nr; i++) {
		for (size_t j = 0; j < groups.at[i].nr; j++)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%zu",
						   j   ? " "
						   : i ? " | "
						       : "",
						   groups.at[i].events[j]);
	}
	grouping_release(&groups);
	return text;
}

static const struct grouping_set anchor = { { 0, 1 }, 2, false };
static const struct grouping_set sets[] = { { { 2, 3 }, 2, false },
					    { { 4, 5 }, 2, false },
					    { { 6 }, 1, false } };

Test(grouping, puts_all_into_one_group_if_it_fits)
{
	cr_expect(eq(str, groups_of(7, &anchor, sets, 3), "0 1 2 3 4 5 6"));
}

Test(grouping, repeats_the_anchor_in_every_group)
{
	cr_expect(eq(str, groups_of(4, &anchor, sets, 3), "0 1 2 3 | 0 1 4 5 | 0 1 6"));
	cr_expect(eq(str, groups_of(5, &anchor, sets, 3), "0 1 2 3 | 0 1 4 5 6"));
}

Test(grouping, keeps_sets_together_before_it_keeps_the_anchor)
{
	cr_expect(eq(str, groups_of(3, &anchor, sets, 3), "0 1 | 2 3 | 4 5 6"));
}

Test(grouping, splits_sets_only_when_nothing_else_helps)
{
	cr_expect(eq(str, groups_of(1, &anchor, sets, 3), "0 1 | 2 | 3 | 4 | 5 | 6"));
}

Test(grouping, never_splits_the_anchor)
{
	cr_expect(eq(str, groups_of(1, &anchor, sets, 0), "0 1"));
	cr_expect(eq(str, groups_of(0, &anchor, sets, 0), "0 1"));
}

Test(grouping, does_without_an_anchor)
{
	cr_expect(eq(str, groups_of(4, &nothing, sets, 3), "2 3 4 5 | 6"));
}

Test(grouping, skips_sets_whose_events_are_all_missing)
{
	struct grouping_set holes[] = { SET(2), { .nr = 0 }, SET(3) };

	cr_expect(eq(str, groups_of(4, &anchor, holes, 3), "0 1 2 3"));
}

Test(grouping, never_splits_a_set_that_is_to_stay_whole)
{
	struct grouping_set whole[] = { { { 2, 3, 4 }, 3, true }, { { 5 }, 1, false } };

	cr_expect(eq(str, groups_of(2, &anchor, whole, 2), "0 1 | 2 3 4 | 5"));
	cr_expect(eq(str, groups_of(3, &anchor, whole, 2), "0 1 | 2 3 4 | 0 1 5"));
}
