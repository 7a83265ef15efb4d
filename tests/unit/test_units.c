/* SPDX-License-Identifier: MIT */
#include "base/units.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

static uint64_t size_of(const char *text)
{
	uint64_t bytes = 0;

	cr_expect(eq(int, units_parse_size(text, &bytes), 0), "%s", text);
	return bytes;
}

static int64_t duration_of(const char *text)
{
	int64_t ns = 0;

	cr_expect(eq(int, units_parse_duration(text, &ns), 0), "%s", text);
	return ns;
}

Test(units, reads_sizes)
{
	cr_expect(eq(u64, size_of("0"), 0));
	cr_expect(eq(u64, size_of("4096"), 4096));
	cr_expect(eq(u64, size_of("4096B"), 4096));
	cr_expect(eq(u64, size_of("64K"), 65536));
	cr_expect(eq(u64, size_of("64kib"), 65536));
	cr_expect(eq(u64, size_of("1.5 MiB"), 1572864));
	cr_expect(eq(u64, size_of("2g"), UINT64_C(2) << 30));
}

Test(units, refuses_what_is_not_a_size)
{
	static const char *const bad[] = { "",	   "K",	  "-1",		 "+1",	" 1",
					   "0x10", "1e3", "inf",	 "nan", "1.2.3",
					   "64KK", "10s", "99999999999T" };
	uint64_t bytes;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect(lt(int, units_parse_size(bad[i], &bytes), 0), "'%s'", bad[i]);
}

Test(units, reads_durations)
{
	cr_expect(eq(i64, duration_of("10"), INT64_C(10000000000)));
	cr_expect(eq(i64, duration_of("1.5s"), 1500000000));
	cr_expect(eq(i64, duration_of("200ms"), 200000000));
	cr_expect(eq(i64, duration_of(".5"), 500000000));
	cr_expect(eq(i64, duration_of("50us"), 50000));
	cr_expect(eq(i64, duration_of("7ns"), 7));
	cr_expect(eq(i64, duration_of("2m"), INT64_C(120000000000)));
	cr_expect(eq(i64, duration_of("1h"), INT64_C(3600000000000)));
}

Test(units, refuses_what_is_not_a_duration)
{
	int64_t ns;

	cr_expect(lt(int, units_parse_duration("", &ns), 0));
	cr_expect(lt(int, units_parse_duration("-1", &ns), 0));
	cr_expect(lt(int, units_parse_duration("5 parsecs", &ns), 0));
	cr_expect(lt(int, units_parse_duration("1K", &ns), 0));
	cr_expect(lt(int, units_parse_duration("9999999999h", &ns), 0));
}

Test(units, writes_sizes)
{
	cr_expect(eq(str, units_size(0).text, "0 B"));
	cr_expect(eq(str, units_size(1023).text, "1023 B"));
	cr_expect(eq(str, units_size(1024).text, "1.0 KiB"));
	cr_expect(eq(str, units_size(1048575).text, "1.0 MiB"));
	cr_expect(eq(str, units_size(432328048).text, "412.3 MiB"));
	cr_expect(eq(str, units_size(UINT64_MAX).text, "16.0 EiB"));
}

Test(units, writes_times)
{
	cr_expect(eq(str, units_time(0).text, "0 ns"));
	cr_expect(eq(str, units_time(999).text, "999 ns"));
	cr_expect(eq(str, units_time(1000).text, "1.00 us"));
	cr_expect(eq(str, units_time(312400).text, "312 us"));
	cr_expect(eq(str, units_time(999600).text, "1.00 ms"));
	cr_expect(eq(str, units_time(3020000000).text, "3.02 s"));
	cr_expect(eq(str, units_time(42100000000).text, "42.1 s"));
	cr_expect(eq(str, units_time(125000000000).text, "2 m 05 s"));
	cr_expect(eq(str, units_time(3725000000000).text, "1 h 02 m"));
}

Test(units, writes_seconds_as_times_however_many_there_are)
{
	cr_expect(eq(str, units_seconds(0.00421).text, "4.21 ms"));
	cr_expect(eq(str, units_seconds(3.02).text, "3.02 s"));
	cr_expect(eq(str, units_seconds(9e9).text, "2500000 h 00 m"));
	cr_expect(eq(str, units_seconds(1e300).text, "2562047 h 47 m"));
	cr_expect(eq(str, units_seconds(INFINITY).text, "2562047 h 47 m"));
}

Test(units, separates_thousands)
{
	cr_expect(eq(str, units_count(0).text, "0"));
	cr_expect(eq(str, units_count(999).text, "999"));
	cr_expect(eq(str, units_count(1000).text, "1,000"));
	cr_expect(eq(str, units_count(18204113).text, "18,204,113"));
	cr_expect(eq(str, units_count(UINT64_MAX).text, "18,446,744,073,709,551,615"));
}

Test(units, shortens_counts)
{
	cr_expect(eq(str, units_short(812).text, "812"));
	cr_expect(eq(str, units_short(999.6).text, "1.00 k"));
	cr_expect(eq(str, units_short(48112).text, "48.1 k"));
	cr_expect(eq(str, units_short(13.2e9).text, "13.2 G"));
}

Test(units, writes_percents)
{
	cr_expect(eq(str, units_percent(0).text, "0 %"));
	cr_expect(eq(str, units_percent(0.0001).text, "<0.1 %"));
	cr_expect(eq(str, units_percent(0.3124).text, "31.2 %"));
	cr_expect(eq(str, units_percent(0.9994).text, "99.9 %"));
	cr_expect(eq(str, units_percent(0.9996).text, "100 %"));
}

Test(units, writes_ratios)
{
	cr_expect(eq(str, units_ratio(0).text, "0.00"));
	cr_expect(eq(str, units_ratio(0.001).text, "<0.01"));
	cr_expect(eq(str, units_ratio(1.426).text, "1.43"));
	cr_expect(eq(str, units_ratio(9.996).text, "10.0"));
	cr_expect(eq(str, units_ratio(118.2).text, "118"));
}
