/* SPDX-License-Identifier: MIT */
#include "record/events/rate.h"

#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

Test(rate, is_lowered_to_what_the_kernel_allows)
{
	struct sampling sampling = { .frequency_hz = 5000 };
	char *detail = rate_limit(&sampling, 4000);

	cr_assert(eq(str, detail, "5000 Hz lowered to 4000, kernel.perf_event_max_sample_rate"));
	cr_assert(eq(u32, sampling.frequency_hz, 4000));
	free(detail);
}

Test(rate, stays_when_it_is_allowed_or_by_period)
{
	struct sampling by_rate = { .frequency_hz = 4000 };
	struct sampling by_period = { .frequency_hz = 5000, .period = 10 };

	cr_assert(zero(ptr, rate_limit(&by_rate, 4000)));
	cr_assert(eq(u32, by_rate.frequency_hz, 4000));
	cr_assert(zero(ptr, rate_limit(&by_period, 4000)));
}

Test(rate, of_the_most_is_lowered_without_a_word)
{
	const struct event_type *clock = event_type_find("cpu-clock");
	struct sampling sampling = { .frequency_hz = SAMPLING_HZ_MOST };

	cr_assert(zero(ptr, rate_limit(&sampling, 100000)));
	cr_assert(eq(u32, sampling.frequency_hz, 100000));
	cr_assert(zero(ptr, rate_clock_detail(&sampling, clock, SAMPLING_HZ_MOST)));
	cr_assert(eq(u32, sampling_rate_hz(clock, &sampling), 20000));
}

Test(rate, of_a_clock_has_a_limit_of_its_own)
{
	const struct event_type *clock = event_type_find("cpu-clock");
	const struct sampling sampling = { .frequency_hz = 30000 };
	char *detail = rate_clock_detail(&sampling, clock, 30000);

	cr_assert(eq(str, detail,
		     "30000 Hz lowered to 20000: the timer of cpu-clock would leave the program no "
		     "time"));
	free(detail);
	cr_assert(zero(ptr, rate_clock_detail(&sampling, event_type_find("cycles"), 30000)));
	cr_assert(eq(u32, sampling_rate_hz(event_type_find("cycles"), &sampling), 30000));
}

Test(rate, of_a_clock_by_period_has_it_too)
{
	const struct event_type *clock = event_type_find("cpu-clock");
	const struct sampling often = { .period = 1 }, seldom = { .period = 50000 };
	char *detail = rate_clock_detail(&often, clock, 0);

	cr_assert(
		eq(str, detail,
		   "a sample every 50000 ns instead of every 1: the timer of cpu-clock would leave "
		   "the program no time"));
	free(detail);
	cr_assert(zero(ptr, rate_clock_detail(&seldom, clock, 0)));
	cr_assert(eq(u64, sampling_period(event_type_find("page-faults"), &often), 1));
}
