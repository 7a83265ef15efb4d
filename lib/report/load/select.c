/* SPDX-License-Identifier: MIT */
#include "report/load/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/text.h"

static bool wanted_thread(const struct profile *profile, const struct profile_thread *thread,
			  const struct select_options *options)
{
	if (options->pid && profile->processes[thread->process].pid != options->pid)
		return false;
	if (options->tid && thread->tid != options->tid)
		return false;
	return !options->comm || (thread->name && !strcmp(thread->name, options->comm));
}

/* Without the CPU side only the heap side knows of threads. */
static void choose_heap_threads(struct selection *selection, const struct profile *profile,
				const struct select_options *options)
{
	struct map seen = { 0 };
	bool added;

	for (size_t i = 0; i < profile->nr_threads; i++)
		map_add(&seen,
			map_pair(profile->threads[i].process, (uint32_t)profile->threads[i].tid),
			&added);
	for (size_t i = 0; i < profile->nr_heap_threads; i++) {
		struct profile_thread thread = { .process = profile->heap_threads[i].process,
						 .tid = profile->heap_threads[i].tid };

		map_add(&seen, map_pair(thread.process, (uint32_t)thread.tid), &added);
		selection->heap_threads[i] = added && wanted_thread(profile, &thread, options);
		if (selection->heap_threads[i])
			selection->processes[thread.process] = true;
	}
	map_release(&seen);
}

/* An image may have been gone before any thread of it was seen. */
static bool wanted_process(const struct profile_process *process,
			   const struct select_options *options)
{
	return !options->comm && !options->tid && (!options->pid || process->pid == options->pid);
}

static void choose(struct selection *selection, const struct profile *profile,
		   const struct select_options *options)
{
	for (size_t i = 0; i < profile->nr_processes; i++)
		selection->processes[i] = wanted_process(&profile->processes[i], options);

	for (size_t i = 0; i < profile->nr_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		selection->threads[i] = wanted_thread(profile, thread, options);
		if (selection->threads[i])
			selection->processes[thread->process] = true;
	}
	choose_heap_threads(selection, profile, options);
}

static void compare(struct selection *selection, const struct profile *profile)
{
	selection->all_threads = true;
	for (size_t i = 0; i < profile->nr_processes; i++)
		if (!selection->processes[i])
			selection->all_threads = false;

	for (size_t i = 0; i < profile->nr_threads; i++) {
		if (selection->threads[i])
			continue;
		selection->all_threads = false;
		if (selection->processes[profile->threads[i].process])
			selection->by_thread = true;
	}
}

static bool is_empty(const struct selection *selection, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_processes; i++)
		if (selection->processes[i])
			return false;
	return true;
}

enum { NAMES_MAX = 512 };

/* The names of threads, each once, as far as there is room for a hint. */
static char *list_names(const struct profile *profile)
{
	struct map seen = { 0 };
	struct intern names = { 0 };
	struct strbuf list = { 0 };

	for (size_t i = 0; i < profile->nr_threads; i++) {
		const char *name = profile->threads[i].name;
		char *clean = name ? text_clean(name) : NULL;
		bool added = false;

		if (clean)
			map_add(&seen, intern_add(&names, clean), &added);
		if (added && list.nr + strlen(clean) < NAMES_MAX)
			strbuf_add_item(&list, ", ", clean);
		free(clean);
	}
	intern_release(&names);
	map_release(&seen);
	return strbuf_take(&list);
}

static int complain(const struct profile *profile, const struct select_options *options,
		    struct error *err)
{
	char *names;

	if (!options->comm) {
		error_set(err, -ENOENT, "the profile has no thread with this pid or tid");
		return error_hint(err, "`cprof report threads` shows those that there are");
	}
	error_set(err, -ENOENT, "the profile has no thread with the name '%.200s'", options->comm);
	names = list_names(profile);
	if (*names)
		error_hint(err, "there are: %s", names);
	free(names);
	return -ENOENT;
}

static int choose_samples(struct selection *selection, const struct profile *profile,
			  const struct span *span, struct error *err)
{
	int ret = 0;

	selection->span = *span;
	selection->everything = selection->all_threads && span_is_all(span);
	selection->totals = profile->totals;
	selection->nr_totals = profile->nr_totals;
	if (span_is_all(span))
		return 0;
	ret = span_totals(&selection->owned, profile, span, err);
	selection->totals = selection->owned.at;
	selection->nr_totals = selection->owned.nr;
	return ret;
}

int selection_init(struct selection *selection, const struct profile *profile,
		   const struct select_options *options, struct error *err)
{
	bool any = !options->comm && !options->pid && !options->tid;

	*selection = (struct selection){
		.threads = xcalloc(profile->nr_threads + 1, sizeof(bool)),
		.processes = xcalloc(profile->nr_processes + 1, sizeof(bool)),
		.heap_threads = xcalloc(profile->nr_heap_threads + 1, sizeof(bool)),
	};
	choose(selection, profile, options);
	compare(selection, profile);
	if (any || !is_empty(selection, profile))
		return choose_samples(selection, profile, &options->span, err);

	selection_release(selection);
	return complain(profile, options, err);
}

struct id_range selection_range(const struct profile *profile, uint32_t process)
{
	if (process == PROFILE_NONE)
		return (struct id_range){ 0, (uint32_t)profile->nr_processes };
	return (struct id_range){ process, process + 1 };
}

bool selection_wants(const struct selection *selection, uint32_t process, uint32_t id)
{
	return process == PROFILE_NONE ? selection->processes[id] : id == process;
}

void selection_release(struct selection *selection)
{
	free(selection->threads);
	free(selection->processes);
	free(selection->heap_threads);
	free(selection->owned.at);
	*selection = (struct selection){ 0 };
}
