/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "record/width.h"

enum {
	NARROW = 16 * 1024,
	MOST = 63 * 1024,
};

static struct width width = { .narrow_bytes = NARROW };

static void add(int nr, uint64_t depth, bool cut)
{
	while (nr--)
		width_add(&width, depth, cut);
}

Test(width, stays_narrow_while_stacks_fit)
{
	add(100000, NARROW, false);
	cr_expect(not(width.is_wide));
}

Test(width, may_begin_wide_until_some_stacks_have_been_shallow)
{
	width.begins_wide = true;
	add(1, 500, false);
	cr_expect(width.is_wide);
	add(900, 500, false);
	cr_expect(width.is_wide);
	add(200, 500, false);
	cr_expect(not(width.is_wide));
}

Test(width, is_narrow_from_the_first_lost_sample_where_no_stack_was_deep)
{
	width.begins_wide = true;
	add(10, 500, false);
	width_lost(&width, 1);
	cr_expect(not(width.is_wide));
	add(1, NARROW, true);
	cr_expect(width.is_wide);
}

Test(width, is_wide_from_the_first_stack_that_was_cut)
{
	add(1000, 500, false);
	add(1, NARROW, true);
	cr_expect(width.is_wide);
}

Test(width, is_narrow_again_after_a_while_that_gets_longer)
{
	int lengths[3];

	for (int i = 0; i < 3; i++) {
		add(1, NARROW, true);
		for (lengths[i] = 0; width.is_wide; lengths[i]++)
			add(1, 500, false);
	}
	cr_expect(gt(int, lengths[0], 1000));
	cr_expect(ge(int, lengths[1], 2 * lengths[0] - 2));
	cr_expect(ge(int, lengths[2], 2 * lengths[1] - 2));
}

Test(width, stays_wide_while_a_deep_stack_comes_now_and_then)
{
	add(1, NARROW, true);
	for (int i = 0; i < 100; i++) {
		add(1000, 500, false);
		add(1, NARROW + 8, false);
	}
	cr_expect(width.is_wide);
}

Test(width, is_narrow_for_good_where_samples_get_lost_over_it)
{
	add(1, NARROW, true);
	add(900, NARROW, true);
	width_lost(&width, 19);
	cr_expect(width.is_wide);
	width_lost(&width, 81);
	cr_expect(not(width.is_wide));
	add(10, NARROW, true);
	cr_expect(not(width.is_wide));
}

Test(width, does_not_mind_samples_lost_while_narrow)
{
	width_lost(&width, 1000);
	add(1, NARROW, true);
	cr_expect(width.is_wide);
}

Test(width, wants_the_rest_for_a_while_from_a_lost_stack_on)
{
	int nr = 0;

	width_beyond(&width, false);
	cr_expect(not(width_wants_rest(&width)));
	width_beyond(&width, true);
	for (; width_wants_rest(&width); nr++)
		width_beyond(&width, false);
	cr_expect(gt(int, nr, 5));
	cr_expect(lt(int, nr, 50));
}

Test(width, wants_the_rest_for_long_where_stacks_are_often_lost)
{
	for (int i = 0; i < 1000; i++) {
		width_beyond(&width, i % 10 == 0);
		cr_expect(width_wants_rest(&width));
	}
	for (int i = 0; width_wants_rest(&width); i++) {
		cr_assert(lt(int, i, 200));
		width_beyond(&width, false);
	}
}

Test(width, asks_for_as_much_as_the_ring_can_take)
{
	cr_expect(eq(u32, width_wide_bytes(NARROW, MOST, 2 << 20, 997), MOST));
	/* 128 samples have to fit. */
	cr_expect(eq(u32, width_wide_bytes(NARROW, MOST, 4 << 20, 4000), 32 * 1024 - 1024));
	/* Not worth a second set of events. */
	cr_expect(eq(u32, width_wide_bytes(NARROW, MOST, 256 << 10, 997), 0));
	cr_expect(eq(u32, width_wide_bytes(NARROW, MOST, 0, 997), 0));
}
