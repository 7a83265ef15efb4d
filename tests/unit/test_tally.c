/* SPDX-License-Identifier: MIT */
#include "stat/tally.h"

#include <math.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static struct stat_event result_of(const struct reading *readings, size_t nr)
{
	struct tally tally = { 0 };
	struct stat_event event = { 0 };

	for (size_t i = 0; i < nr; i++)
		tally_add(&tally, &readings[i]);
	tally_result(&tally, &event);
	return event;
}

#define RESULT(...)                                  \
	result_of((struct reading[]){ __VA_ARGS__ }, \
		  sizeof((struct reading[]){ __VA_ARGS__ }) / sizeof(struct reading))

Test(tally, takes_a_full_count_as_it_is)
{
	struct stat_event e = RESULT({ 1000, 50, 50, NAN, NAN });

	cr_expect(eq(int, e.status, PROFILE_COUNTED));
	cr_expect(eq(dbl, e.value.mean, 1000));
	cr_expect(eq(dbl, e.coverage, 1));
}

Test(tally, scales_what_counted_half_the_time_and_says_so)
{
	struct stat_event e = RESULT({ 1000, 50, 25, NAN, NAN });

	cr_expect(eq(int, e.status, PROFILE_SCALED));
	cr_expect(eq(dbl, e.value.mean, 2000));
	cr_expect(eq(dbl, e.coverage, 0.5));
}

Test(tally, does_not_call_99_percent_scaled)
{
	cr_expect(eq(int, RESULT({ 1000, 1000, 990, NAN, NAN }).status, PROFILE_COUNTED));
	cr_expect(eq(int, RESULT({ 1000, 1000, 989, NAN, NAN }).status, PROFILE_SCALED));
}

Test(tally, tells_not_counted_from_zero)
{
	struct stat_event never = RESULT({ 0, 50, 0, NAN, NAN });
	struct stat_event zero = RESULT({ 0, 50, 50, NAN, NAN });

	cr_expect(eq(int, never.status, PROFILE_NOT_COUNTED));
	cr_expect(eq(sz, never.value.nr, 0));
	cr_expect(eq(int, zero.status, PROFILE_COUNTED));
	cr_expect(eq(sz, zero.value.nr, 1));
	cr_expect(eq(dbl, zero.value.mean, 0));
}

Test(tally, leaves_runs_that_did_not_count_out_of_the_mean)
{
	struct stat_event e = RESULT({ 100, 50, 50, NAN, NAN }, { 0, 50, 0, NAN, NAN });

	cr_expect(eq(int, e.status, PROFILE_SCALED));
	cr_expect(eq(sz, e.value.nr, 1));
	cr_expect(eq(dbl, e.value.mean, 100));
	cr_expect(eq(dbl, e.coverage, 0.5));
}

Test(tally, takes_rates_from_the_same_windows_unscaled)
{
	struct stat_event e = RESULT({ 30, 100, 25, 10000, 600 });

	cr_expect(epsilon_eq(dbl, e.per_1k_instructions, 3, 1e-12));
	cr_expect(epsilon_eq(dbl, e.ratio, 0.05, 1e-12));
}

Test(tally, makes_rates_of_sums_not_means_of_rates)
{
	struct stat_event e = RESULT({ 10, 1, 1, 1000, 100 }, { 10, 1, 1, 9000, 900 });

	cr_expect(epsilon_eq(dbl, e.per_1k_instructions, 2, 1e-12));
	cr_expect(epsilon_eq(dbl, e.ratio, 0.02, 1e-12));
}

Test(tally, knows_no_rate_without_instructions)
{
	struct stat_event e = RESULT({ 10, 1, 1, NAN, NAN });

	cr_expect(isnan(e.per_1k_instructions));
	cr_expect(isnan(e.ratio));
}
