/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "record/stops/pace.h"

#define MS UINT64_C(1000000)

static struct pace pace = { .period_ns = 10 * MS };

/* So many half seconds with this share of a CPU. */
static void spend(int nr, unsigned int percent)
{
	while (nr--)
		pace_limit(&pace, pace.limited_ns + 500 * MS, pace.used_ns + 5 * MS * percent);
}

static uint64_t mean_pause_ns(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += pace_pause_ns(&pace);
	return sum / 1000;
}

Test(pace, pauses_half_a_period_to_one_and_a_half)
{
	pace_begin(&pace, 12345);
	for (int i = 0; i < 1000; i++) {
		uint64_t ns = pace_pause_ns(&pace);

		cr_assert(ge(u64, ns, 5 * MS));
		cr_assert(lt(u64, ns, 15 * MS));
	}
	cr_expect(gt(u64, mean_pause_ns(), 9 * MS));
	cr_expect(lt(u64, mean_pause_ns(), 11 * MS));
}

Test(pace, is_slower_while_that_takes_much_of_a_cpu)
{
	pace_begin(&pace, 12345);
	spend(10, 4);
	cr_expect(eq(u64, pace.stretch, 1));
	spend(3, 6);
	cr_expect(eq(u64, pace.stretch, 8));
	cr_expect(gt(u64, mean_pause_ns(), 70 * MS));
	spend(100, 6);
	cr_expect(eq(u64, pace.stretch, 64));
	spend(6, 4);
	cr_expect(eq(u64, pace.stretch, 1));
}

Test(pace, changes_only_now_and_then)
{
	pace_begin(&pace, 0);
	for (uint64_t i = 1; i < 200; i++)
		pace_limit(&pace, i * MS, i * MS);
	cr_expect(eq(u64, pace.stretch, 1));
}
