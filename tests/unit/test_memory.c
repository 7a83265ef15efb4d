/* SPDX-License-Identifier: MIT */
#include "record/memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "record/moments.h"

static const char status[] = "Name:\tredis-server\n"
			     "VmPeak:\t   99 kB\n"
			     "VmHWM:\t    7716 kB\n"
			     "VmRSS:\t    7000 kB\n"
			     "RssAnon:\t     4000 kB\n"
			     "RssFile:\t     2900 kB\n"
			     "RssShmem:\t     100 kB\n"
			     "VmSwap:\t       12 kB\n"
			     "Threads:\t4\n";

Test(memory, takes_its_figures_from_the_status_of_a_process)
{
	struct profile_memory memory = { 0 };

	cr_assert(memory_parse(status, &memory));
	cr_assert_eq(memory.anonymous_bytes, 4000 * 1024);
	cr_assert_eq(memory.file_bytes, 2900 * 1024);
	cr_assert_eq(memory.shared_bytes, 100 * 1024);
	cr_assert_eq(memory.swap_bytes, 12 * 1024);
	cr_assert_eq(memory.peak_rss_bytes, 7716 * 1024);
}

Test(memory, finds_none_in_a_zombie_or_a_kernel_thread)
{
	struct profile_memory memory = { 0 };

	cr_assert_not(
		memory_parse("Name:\tkthreadd\nState:\tS (sleeping)\nThreads:\t1\n", &memory));
	cr_assert_not(memory_parse("", &memory));
	/* A name that looks like a field. */
	cr_assert_not(memory_parse("Name:\tVmHWM: 5 kB\n", &memory));
}

Test(memory, understands_this_kernel)
{
	char text[16384] = "";
	struct profile_memory memory = { 0 };
	FILE *file = fopen("/proc/self/status", "re");

	cr_assert(file && fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	cr_assert(memory_parse(text, &memory));
	cr_assert_gt(memory.anonymous_bytes, 0);
	cr_assert_gt(memory.peak_rss_bytes, memory.anonymous_bytes);
}

/* --- a moments ---------------------------------------------------------------------------------*/

static struct profile_memory at(int64_t time_us, uint64_t anonymous, uint64_t peak)
{
	return (struct profile_memory){ .time_us = time_us,
					.anonymous_bytes = anonymous,
					.peak_rss_bytes = peak };
}

static void add(struct moments *moments, int64_t time_us, uint64_t anonymous, uint64_t peak)
{
	struct profile_memory memory = at(time_us, anonymous, peak);

	moments_add(moments, &memory);
}

Test(moments, keeps_of_moments_close_together_the_one_with_the_most_memory)
{
	struct moments moments = { 0 };

	add(&moments, 2100, 10, 10);
	add(&moments, 2500, 30, 31);
	add(&moments, 2900, 20, 32);
	add(&moments, 3000, 5, 32);

	struct moments_taken points = moments_take(&moments, true);

	cr_assert_eq(points.nr, 2);
	cr_assert_eq(points.at[0].time_us, 2500);
	cr_assert_eq(points.at[0].anonymous_bytes, 30);
	cr_assert_eq(points.at[0].peak_rss_bytes, 32);
	cr_assert_eq(points.at[1].time_us, 3000);
	moments_release(&moments);
}

Test(moments, gives_each_moment_once_and_the_last_one_at_last)
{
	struct moments moments = { 0 };

	cr_assert_eq(moments_take(&moments, true).nr, 0);
	add(&moments, 1000, 1, 1);
	add(&moments, 2000, 2, 2);
	cr_assert_eq(moments_take(&moments, false).nr, 1);
	cr_assert_eq(moments_take(&moments, false).nr, 0);
	add(&moments, 3000, 3, 3);

	struct moments_taken points = moments_take(&moments, true);

	cr_assert_eq(points.nr, 2);
	cr_assert_eq(points.at[0].time_us, 2000);
	cr_assert_not(points.whole);
	cr_assert_eq(moments_take(&moments, true).nr, 0);
	moments_release(&moments);
}

/* Twenty moments a second for three days, taken once a second. */
Test(moments, has_bounded_size_and_keeps_the_maximum_over_days)
{
	struct moments moments = { 0 };
	const int64_t day_us = INT64_C(86400) * 1000000, peak_us = 2 * day_us + 50000;
	size_t most = 0;
	bool found = false;

	for (int64_t us = 0; us < 3 * day_us; us += 50000) {
		add(&moments, us, us == peak_us ? 1000000 : (uint64_t)us / 50000 % 1000, 1000000);
		most = moments.points.nr > most ? moments.points.nr : most;
		if (us % 1000000 == 0)
			moments_take(&moments, false);
	}
	moments.merged = true;

	struct moments_taken points = moments_take(&moments, true);

	cr_assert_leq(most, MOMENTS_KEPT);
	cr_assert_geq(points.nr, MOMENTS_KEPT / 2);
	for (size_t i = 0; i < points.nr; i++) {
		cr_assert(!i || points.at[i].time_us > points.at[i - 1].time_us);
		if (points.at[i].time_us == peak_us)
			found = points.at[i].anonymous_bytes == 1000000;
	}
	cr_assert(found);
	moments_release(&moments);
}
