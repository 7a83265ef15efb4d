/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/vec.h"
#include "stat/list.h"
#include "stat/wrap.h"

enum { COLUMNS = 80, NAME_WIDTH = 27, HERE_WIDTH = 9, FOOTNOTE_INDENT = 2 };

static const char *const headings[] = {
	[LIST_HARDWARE] = "hardware: of the CPU's PMU",
	[LIST_CACHE] = "cache: of the CPU's PMU, by cache and kind of access",
	[LIST_SOFTWARE] = "software: by the kernel",
	[LIST_PTRACE] = "ptrace: without perf, sampled by cprof record",
	[LIST_PMU] = "pmu: as sysfs describes them",
	[LIST_TRACEPOINT] = "tracepoint: places in the kernel",
};

/* Reasons are told once, below, by their number. */
typedef VEC(const char *) reasons;

static size_t number_of(reasons *told, const char *reason)
{
	for (size_t i = 0; i < told->nr; i++) {
		if (!strcmp(told->at[i], reason))
			return i + 1;
	}
	vec_push(told, reason);
	return told->nr;
}

/* An alias is there where there is room for it. */
static void print_event(const struct stat_list_event *event, reasons *told, FILE *out)
{
	const char *verdict =
		event->status == PROFILE_COUNTED ? event->user_only ? "user" : "yes" : "no";
	char *name = text_clean(event->name), *about = text_clean(event->about);
	char here[32];
	int column;

	if (event->reason)
		snprintf(here, sizeof(here), "%s [%zu]", verdict, number_of(told, event->reason));
	else
		snprintf(here, sizeof(here), "%s", verdict);
	column = fprintf(out, "  %-*s%-*s", HERE_WIDTH, here, *about ? NAME_WIDTH : 0, name);
	column += fprintf(out, "%s", about);
	if (event->alias && (size_t)column + strlen(event->alias) + strlen(" (or )") <= COLUMNS)
		fprintf(out, " (or %s)", event->alias);
	fputc('\n', out);
	free(name);
	free(about);
}

static void print_footnotes(const reasons *told, FILE *out)
{
	for (size_t i = 0; i < told->nr; i++) {
		char *line = xasprintf("[%zu] %s", i + 1, told->at[i]);

		if (!i)
			fputc('\n', out);
		wrap_print(line, FOOTNOTE_INDENT, out);
		free(line);
	}
}

void stat_list_print_text(const struct stat_list *list, FILE *out)
{
	reasons told = { 0 };

	for (size_t i = 0; i < list->nr; i++) {
		const struct stat_list_event *event = &list->at[i];

		if (!i || event->kind != list->at[i - 1].kind)
			fprintf(out, "%s%s\n", i ? "\n" : "", headings[event->kind]);
		print_event(event, &told, out);
	}
	print_footnotes(&told, out);
	vec_free(&told);
}

static json_t *text(const char *bytes)
{
	char *utf8 = text_utf8(bytes);
	json_t *json = json_string(utf8);

	free(utf8);
	return json;
}

static json_t *event_object(const struct stat_list_event *event)
{
	json_t *object = json_object();

	json_object_set_new(object, "name", text(event->name));
	json_object_set_new(object, "alias", event->alias ? text(event->alias) : json_null());
	json_object_set_new(object, "kind", text(stat_list_kind_name(event->kind)));
	json_object_set_new(object, "unit", text(event->unit ? event->unit : ""));
	json_object_set_new(object, "about", text(event->about));
	json_object_set_new(object, "status", text(profile_status_name(event->status)));
	json_object_set_new(object, "user_only", json_boolean(event->user_only));
	json_object_set_new(object, "reason", event->reason ? text(event->reason) : json_null());
	return object;
}

void stat_list_print_json(const struct stat_list *list, FILE *out)
{
	json_t *root = json_object(), *events = json_array();

	vec_each(list, event) json_array_append_new(events, event_object(event));
	json_object_set_new(root, "events", events);
	json_dumpf(root, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(root);
}
