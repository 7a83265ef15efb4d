/* SPDX-License-Identifier: MIT */
#include "base/stats.h"

#include <math.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define near(value, expected) cr_expect(lt(dbl, fabs((value) - (expected)), 1e-9))

Test(stats, mean_and_deviation_are_those_of_the_sample)
{
	struct stats s = { 0 };
	const double values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };

	for (size_t i = 0; i < 8; i++)
		stats_add(&s, values[i]);

	near(stats_mean(&s), 5);
	near(stats_stddev(&s), sqrt(32.0 / 7));
	near(s.min, 2);
	near(s.max, 9);
}

Test(stats, large_values_close_together_keep_their_deviation)
{
	struct stats s = { 0 };

	for (int i = 0; i < 3; i++)
		stats_add(&s, 1e12 + i);

	near(stats_stddev(&s), 1);
}

Test(stats, one_value_has_no_deviation)
{
	struct stats s = { 0 };

	stats_add(&s, -3);
	near(stats_stddev(&s), 0);
	near(s.max, -3);
}

Test(stats, the_error_of_a_share_of_equal_weights_is_that_of_a_proportion)
{
	/* 3000 of 10000 samples of weight 7 */
	double error = stats_share_error(3000 * 7, 3000 * 49, 10000 * 7, 10000 * 49);

	cr_expect(lt(dbl, fabs(error - 1.96 * sqrt(0.3 * 0.7 / 10000)), 1e-5));
}

Test(stats, few_heavy_samples_know_less_than_many_light_ones)
{
	/* the same half: 1000 samples of weight 1 against 10 of weight 100 */
	double light = stats_share_error(1000, 1000, 2000, 2000);
	double heavy = stats_share_error(1000, 100000, 2000, 101000);

	cr_expect(gt(dbl, heavy, 5 * light));
}

Test(stats, a_share_of_one_is_not_certain)
{
	cr_expect(gt(dbl, stats_share_error(3, 3, 3, 3), 0.25)); /* Wilson: 0.44 .. 1 */
	cr_expect(lt(dbl, stats_share_error(1e4, 1e4, 1e4, 1e4), 1e-3));
}

Test(stats, nothing_sampled_has_no_error)
{
	near(stats_share_error(0, 0, 0, 0), 0);
}
