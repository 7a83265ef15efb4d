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

	json_object_set_new(object, "name", json_string(event->name));
	json_object_set_new(object, "unit", json_string(event->unit));
	json_object_set_new(object, "status", json_string(profile_status_name(event->status)));
	json_object_set_new(object, "reason", text_or_null(event->reason));
	set_series(object, &event->value);
	json_object_set_new(object, "coverage", number(tried ? event->coverage : NAN));
	return object;
}

static json_t *command_object(const struct stat_result *result)
{
	json_t *object = json_object(), *words = json_array(), *events = json_array();
	json_t *wall = json_object();

	for (char *const *word = result->arguments; *word; word++)
		json_array_append_new(words, text(*word));
	for (size_t i = 0; i < result->nr_events; i++)
		json_array_append_new(events, event_object(&result->events[i]));
	set_series(wall, &result->wall_s);

	json_object_set_new(object, "command", words);
	json_object_set_new(object, "runs", json_integer(result->runs));
	json_object_set_new(object, "wall_s", wall);
	json_object_set_new(object, "events", events);
	json_object_set_new(object, "ipc", number(result->ipc));
	return object;
}

void json_print(const struct stat_result *result, FILE *out)
{
	json_t *root = json_object(), *commands = json_array();

	json_array_append_new(commands, command_object(result));
	json_object_set_new(root, "commands", commands);
	json_object_set_new(root, "comparison", json_array());
	json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	fputc('\n', out);
	json_decref(root);
}
