/* SPDX-License-Identifier: MIT */
#include "report/load/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool wanted_thread(const struct profile *profile, const struct profile_thread *thread,
			  const struct select_options *options)
{
	if (options->pid && profile->processes[thread->process].pid != options->pid)
		return false;
	if (options->tid && thread->tid != options->tid)
		return false;
	return !options->comm || (thread->name && !strcmp(thread->name, options->comm));
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
}

static void compare(struct selection *selection, const struct profile *profile)
{
	selection->everything = true;
	for (size_t i = 0; i < profile->nr_processes; i++)
		if (!selection->processes[i])
			selection->everything = false;

	for (size_t i = 0; i < profile->nr_threads; i++) {
		if (selection->threads[i])
			continue;
		selection->everything = false;
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

static bool hint_has(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

static int complain(const struct profile *profile, const struct select_options *options,
		    struct error *err)
{
	char names[512] = "";

	for (size_t i = 0; i < profile->nr_threads; i++) {
		const char *name = profile->threads[i].name;
		size_t used = strlen(names);

		if (!name || used + strlen(name) + 3 > sizeof(names) || hint_has(names, name))
			continue;
		snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", name);
	}

	error_set(err, -ENOENT, "the profile has no thread with%s%.200s%s",
		  options->comm ? " the name '" : "", options->comm ?: "",
		  options->comm ? "'" : " this pid or tid");
	if (*names)
		error_hint(err, "there are: %s", names);
	return -ENOENT;
}

int selection_init(struct selection *selection, const struct profile *profile,
		   const struct select_options *options, struct error *err)
{
	bool any = !options->comm && !options->pid && !options->tid;

	*selection = (struct selection){
		.threads = xcalloc(profile->nr_threads + 1, sizeof(bool)),
		.processes = xcalloc(profile->nr_processes + 1, sizeof(bool)),
	};
	choose(selection, profile, options);
	compare(selection, profile);
	if (any || !is_empty(selection, profile))
		return 0;

	selection_release(selection);
	return complain(profile, options, err);
}

void selection_release(struct selection *selection)
{
	free(selection->threads);
	free(selection->processes);
	*selection = (struct selection){ 0 };
}
