/* SPDX-License-Identifier: MIT */
#include "stat/view.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

/* The first column of each interval of these ends, one run. */
static char *labels(const double *ends_s, size_t nr)
{
	static struct stat_event event = { .name = "page-faults", .unit = "" };
	static struct stat_command command = { .events = &event };
	struct stat_count counts[8];
	struct stat_interval intervals[8];
	struct stat_result result = {
		.commands = &command, .nr_commands = 1, .nr_events = 1, .intervals = intervals
	};
	char *text, *labels = calloc(1, 256), *rest, *line;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < nr; i++) {
		counts[i] = (struct stat_count){ .value = 7, .coverage = 1 };
		intervals[i] = (struct stat_interval){ .time_s = ends_s[i], .counts = &counts[i] };
		result.nr_intervals = i + 1;
		stat_views[STAT_TEXT].interval(&result, &intervals[i], out);
	}
	fclose(out);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		strcat(labels, *labels ? " " : "");
		strncat(labels, line + strspn(line, " "), strcspn(line + strspn(line, " "), " "));
	}
	free(text);
	return labels;
}

Test(stat_text, intervals_have_the_decimals_that_tell_them_apart)
{
	const double apart[] = { 0.1001, 0.2002, 0.2551 };
	const double close[] = { 0.1001, 0.2002, 0.2004 };
	const double closest[] = { 0.1, 0.10000002 };
	const double equal[] = { 0.1, 0.1 };

	cr_expect(eq(str, labels(apart, 3), "0.100 0.200 0.255"));
	cr_expect(eq(str, labels(close, 3), "0.100 0.200 0.2004"));
	cr_expect(eq(str, labels(closest, 2), "0.100 0.10000002"));
	cr_expect(eq(str, labels(equal, 2), "0.100 0.100000000"));
}
