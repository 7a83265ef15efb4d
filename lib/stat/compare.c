/* SPDX-License-Identifier: MIT */
#include "stat/compare.h"

#include <math.h>

#include "base/alloc.h"

static const double significance = 0.05;

static void add(struct stat_result *result, size_t command, const char *name, const char *unit,
		const struct stats *first, const struct stats *second)
{
	if (!first->nr || !second->nr)
		return;
	result->differences[result->nr_differences++] = (struct stat_difference){
		.command = command,
		.name = name,
		.unit = unit,
		.first = stats_mean(first),
		.second = stats_mean(second),
		.welch = welch_compare(first, second),
	};
}

void compare_commands(struct stat_result *result)
{
	const struct stat_command *first = &result->commands[0];

	if (result->nr_commands < 2)
		return;
	result->differences = xcalloc((result->nr_commands - 1) * (1 + result->nr_events),
				      sizeof(result->differences[0]));
	for (size_t i = 1; i < result->nr_commands; i++) {
		const struct stat_command *other = &result->commands[i];

		add(result, i, "wall-time", "s", &first->wall_s, &other->wall_s);
		for (size_t j = 0; j < result->nr_events; j++)
			add(result, i, first->events[j].name, first->events[j].unit,
			    &first->events[j].value, &other->events[j].value);
	}
}

bool stat_is_significant(const struct stat_difference *difference)
{
	return difference->welch.p < significance;
}
