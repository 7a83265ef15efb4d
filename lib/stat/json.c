/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "stat/view.h"

static json_t *text(const char *bytes)
{
	char *utf8 = text_utf8(bytes);
	json_t *json = json_string(utf8);

	free(utf8);
	return json;
}

static json_t *text_or_null(const char *bytes)
{
	return bytes ? text(bytes) : json_null();
}

static json_t *number(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static void set_series(json_t *object, const struct stats *series)
{
	bool any = series->nr > 0, several = series->nr > 1;

	json_object_set_new(object, "mean", number(any ? stats_mean(series) : NAN));
	json_object_set_new(object, "stddev", number(several ? stats_stddev(series) : NAN));
	json_object_set_new(object, "min", number(any ? series->min : NAN));
	json_object_set_new(object, "max", number(any ? series->max : NAN));
}

static json_t *event_object(const struct stat_event *event)
{
	bool tried = event->status <= PROFILE_NOT_COUNTED;
	json_t *object = json_object();

	json_object_set_new(object, "name", text(event->name));
	json_object_set_new(object, "unit", text(event->unit));
	json_object_set_new(object, "status", json_string(profile_status_name(event->status)));
	json_object_set_new(object, "reason", text_or_null(event->reason));
	set_series(object, &event->value);
	json_object_set_new(object, "coverage", number(tried ? event->coverage : NAN));
	return object;
}

static json_t *count_object(const struct stat_event *event, const struct stat_count *count)
{
	json_t *object = json_object();

	json_object_set_new(object, "name", text(event->name));
	json_object_set_new(object, "unit", text(event->unit));
	json_object_set_new(object, "value", number(count->value));
	json_object_set_new(object, "coverage",
			    number(isnan(count->value) ? NAN : count->coverage));
	return object;
}

static json_t *interval_object(const struct stat_result *result,
			       const struct stat_interval *interval)
{
	const struct stat_command *command = &result->commands[interval->command];
	json_t *object = json_object(), *counts = json_array();

	for (size_t i = 0; i < result->nr_events; i++)
		json_array_append_new(counts,
				      count_object(&command->events[i], &interval->counts[i]));
	json_object_set_new(object, "run", json_integer(interval->run + 1));
	json_object_set_new(object, "time_s", json_real(interval->time_s));
	json_object_set_new(object, "events", counts);
	return object;
}

static json_t *intervals_of(const struct stat_result *result, size_t command)
{
	json_t *array = json_array();

	for (size_t i = 0; i < result->nr_intervals; i++) {
		if (result->intervals[i].command == command)
			json_array_append_new(array,
					      interval_object(result, &result->intervals[i]));
	}
	return array;
}

static json_t *processes_of(const struct stat_command *command)
{
	json_t *array = json_array();

	for (size_t i = 0; i < command->nr_processes; i++) {
		json_t *object = json_object();

		json_object_set_new(object, "pid", json_integer(command->processes[i].pid));
		json_object_set_new(object, "name", text(command->processes[i].name));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *command_object(const struct stat_result *result, size_t i)
{
	const struct stat_command *command = &result->commands[i];
	json_t *object = json_object(), *words = json_array(), *events = json_array();
	json_t *wall = json_object();

	for (char *const *word = command->arguments; *word; word++)
		json_array_append_new(words, text(*word));
	for (size_t j = 0; j < result->nr_events; j++)
		json_array_append_new(events, event_object(&command->events[j]));
	set_series(wall, &command->wall_s);

	json_object_set_new(object, "command", words);
	if (command->nr_processes)
		json_object_set_new(object, "processes", processes_of(command));
	json_object_set_new(object, "runs", json_integer(command->runs));
	json_object_set_new(object, "runs_asked", json_integer(result->runs));
	json_object_set_new(object, "wall_s", wall);
	json_object_set_new(object, "events", events);
	json_object_set_new(object, "ipc", number(command->ipc));
	if (result->nr_intervals)
		json_object_set_new(object, "intervals", intervals_of(result, i));
	return object;
}

static json_t *difference_object(const struct stat_difference *difference)
{
	const struct welch *welch = &difference->welch;
	json_t *object = json_object();
	bool tested = !isnan(welch->p);

	json_object_set_new(object, "command", json_integer((json_int_t)difference->command));
	json_object_set_new(object, "against", json_integer(0));
	json_object_set_new(object, "event", text(difference->name));
	json_object_set_new(object, "unit", text(difference->unit));
	json_object_set_new(object, "difference", json_real(welch->difference));
	json_object_set_new(
		object, "relative",
		number(difference->first ? welch->difference / fabs(difference->first) : NAN));
	json_object_set_new(object, "error", number(welch->error));
	json_object_set_new(object, "p", number(welch->p));
	json_object_set_new(object, "significant",
			    tested ? json_boolean(stat_is_significant(difference)) : json_null());
	return object;
}

void json_print(const struct stat_result *result, size_t width, FILE *out)
{
	json_t *root = json_object(), *commands = json_array(), *comparison = json_array();

	(void)width;
	for (size_t i = 0; i < result->nr_commands; i++)
		json_array_append_new(commands, command_object(result, i));
	for (size_t i = 0; i < result->nr_differences; i++)
		json_array_append_new(comparison, difference_object(&result->differences[i]));
	json_object_set_new(root, "commands", commands);
	json_object_set_new(root, "comparison", comparison);
	json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	fputc('\n', out);
	json_decref(root);
}
