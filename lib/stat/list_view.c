/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/vec.h"
#include "stat/list.h"
#include "stat/wrap.h"

enum { NAME_WIDTH = 27, HERE_WIDTH = 9, FOOTNOTE_INDENT = 2 };
enum { ABOUT_INDENT = 2 + HERE_WIDTH + NAME_WIDTH, NARROW_INDENT = 4, NARROWEST_ABOUT = 20 };

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

static bool is_narrow(size_t width)
{
	return width < ABOUT_INDENT + NARROWEST_ABOUT;
}

/* Behind the name, or below it.  An alias is there where there is room for it. */
static void print_about(const struct stat_list_event *event, size_t column, size_t width, FILE *out)
{
	size_t indent = is_narrow(width) ? NARROW_INDENT : ABOUT_INDENT;
	char *about = text_clean(event->about), *whole;

	if (is_narrow(width) && *about) {
		fprintf(out, "\n%*s", NARROW_INDENT, "");
		column = NARROW_INDENT;
	}
	whole = event->alias ? xasprintf("%s (or %s)", about, event->alias) : xstrdup(about);
	wrap_print_from(column + text_width(whole) <= width ? whole : about, column, indent, width,
			out);
	free(whole);
	free(about);
}

static void print_event(const struct stat_list_event *event, reasons *told, size_t width, FILE *out)
{
	const char *verdict =
		event->status == PROFILE_COUNTED ? event->user_only ? "user" : "yes" : "no";
	char *name = text_clean(event->name);
	bool pads = *event->about && !is_narrow(width);
	char here[32];
	int column;

	if (event->reason)
		snprintf(here, sizeof(here), "%s [%zu]", verdict, number_of(told, event->reason));
	else
		snprintf(here, sizeof(here), "%s", verdict);
	column = fprintf(out, "  %-*s%-*s", HERE_WIDTH, here, pads ? NAME_WIDTH : 0, name);
	print_about(event, (size_t)column, width, out);
	free(name);
}

static void print_heading(enum stat_list_kind kind, bool is_first, size_t width, FILE *out)
{
	if (!is_first)
		fputc('\n', out);
	wrap_print(headings[kind], 0, width, out);
}

static void print_footnotes(const reasons *told, size_t width, FILE *out)
{
	for (size_t i = 0; i < told->nr; i++) {
		char *line = xasprintf("[%zu] %s", i + 1, told->at[i]);

		if (!i)
			fputc('\n', out);
		wrap_print(line, FOOTNOTE_INDENT, width, out);
		free(line);
	}
}

void stat_list_print_text(const struct stat_list *list, size_t width, FILE *out)
{
	reasons told = { 0 };

	width = wrap_width(width);
	for (size_t i = 0; i < list->nr; i++) {
		const struct stat_list_event *event = &list->at[i];

		if (!i || event->kind != list->at[i - 1].kind)
			print_heading(event->kind, !i, width, out);
		print_event(event, &told, width, out);
	}
	print_footnotes(&told, width, out);
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
