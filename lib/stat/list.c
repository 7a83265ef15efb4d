/* SPDX-License-Identifier: MIT */
#include "stat/list.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "record/events/access.h"
#include "record/events/event_types.h"
#include "record/events/pmu.h"
#include "record/events/tracepoint.h"
#include "stat/reason.h"
#include "stat/trial.h"

static const char *const kind_names[] = {
	[LIST_HARDWARE] = "hardware",	  [LIST_CACHE] = "cache",
	[LIST_SOFTWARE] = "software",	  [LIST_PMU] = "pmu",
	[LIST_TRACEPOINT] = "tracepoint", [LIST_PTRACE] = "ptrace",
};

const char *stat_list_kind_name(enum stat_list_kind kind)
{
	return kind_names[kind];
}

static void add(struct stat_list *list, enum stat_list_kind kind, const char *name,
		const char *about)
{
	vec_push(list, (struct stat_list_event){
			       .kind = kind,
			       .name = xstrdup(name),
			       .alias = event_type_alias(name),
			       .about = xstrdup(about ? about : ""),
		       });
}

static enum stat_list_kind kind_of(const struct event_type *generic)
{
	return generic->type == PERF_TYPE_HARDWARE   ? LIST_HARDWARE
	       : generic->type == PERF_TYPE_HW_CACHE ? LIST_CACHE
	       : event_type_is_stops(generic)	     ? LIST_PTRACE
						     : LIST_SOFTWARE;
}

static void add_sysfs(struct stat_list *list)
{
	size_t nr;
	char **names = pmu_events(PMU_SYSFS, &nr);

	for (size_t i = 0; i < nr; i++) {
		char *terms = pmu_event_terms(PMU_SYSFS, names[i]);

		add(list, LIST_PMU, names[i], terms);
		free(terms);
		free(names[i]);
	}
	free(names);
}

static void add_tracepoints(struct stat_list *list)
{
	size_t nr;
	char **names = tracepoint_names(&nr);

	for (size_t i = 0; i < nr; i++) {
		add(list, LIST_TRACEPOINT, names[i], NULL);
		free(names[i]);
	}
	free(names);
}

static void add_all(struct stat_list *list)
{
	for (const struct event_type *type = event_types_generic(); type->name; type++)
		add(list, kind_of(type), type->name, type->about);
	add_sysfs(list);
	add_tracepoints(list);
}

static bool contains(const char *text, const char *word)
{
	return text && strcasestr(text, word);
}

static bool matches(const struct stat_list_event *event, const char *word)
{
	return !word || contains(event->name, word) || contains(event->alias, word) ||
	       contains(kind_names[event->kind], word);
}

static void release_event(struct stat_list_event *event)
{
	free(event->name);
	free(event->about);
	free(event->unit);
	free(event->reason);
}

static char *closest(const struct stat_list *list, const char *word)
{
	const char **names = xcalloc(2 * list->nr + 1, sizeof(names[0]));
	const char *meant;
	size_t nr = 0;

	for (size_t i = 0; i < list->nr; i++) {
		names[nr++] = list->at[i].name;
		if (list->at[i].alias)
			names[nr++] = list->at[i].alias;
	}
	meant = suggest(word, names);
	free(names);
	return meant ? xstrdup(meant) : NULL;
}

static void keep_matching(struct stat_list *list, const char *word)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->nr; i++)
		kept += matches(&list->at[i], word);
	if (!kept)
		list->meant = closest(list, word);
	kept = 0;
	for (size_t i = 0; i < list->nr; i++) {
		if (matches(&list->at[i], word))
			list->at[kept++] = list->at[i];
		else
			release_event(&list->at[i]);
	}
	list->nr = kept;
}

static void try_event(struct stat_list_event *event, const struct access *access)
{
	struct event_types types = { 0 };
	struct error err = ERROR_INIT;

	if (event_types_parse(&types, event->name, &err) < 0) {
		event->status = PROFILE_NOT_SUPPORTED;
		event->reason = xstrdup(err.message);
	} else {
		trial_of_event(&types.at[0], access, &event->user_only, &event->status,
			       &event->reason);
		event->unit = xstrdup(types.at[0].unit);
		if (event->user_only)
			event->reason = reason_kernel_refused(access, &(enum profile_status){ 0 });
	}
	event_types_release(&types);
}

static void take_verdict(struct stat_list_event *event, const struct stat_list_event *other)
{
	event->status = other->status;
	event->user_only = other->user_only;
	event->reason = other->reason ? xstrdup(other->reason) : NULL;
}

static void try_all(struct stat_list *list)
{
	const struct stat_list_event *tracepoint = NULL;
	struct access access;

	access_read(&access);
	vec_each(list, event)
	{
		if (event->kind == LIST_TRACEPOINT && tracepoint)
			take_verdict(event, tracepoint);
		else
			try_event(event, &access);
		if (event->kind == LIST_TRACEPOINT)
			tracepoint = event;
	}
}

void stat_list_make(struct stat_list *list, const char *word)
{
	*list = (struct stat_list){ 0 };
	add_all(list);
	keep_matching(list, word);
	try_all(list);
}

void stat_list_release(struct stat_list *list)
{
	vec_each(list, event) release_event(event);
	vec_free(list);
	free(list->meant);
	list->meant = NULL;
}
