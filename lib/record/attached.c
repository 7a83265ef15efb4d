/* SPDX-License-Identifier: MIT */
#include "record/attached.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "record/mappings.h"

enum {
	LOOKS_MAX = 100, /* a program that starts threads without end is never at rest */
};

#define CLOSED UINT64_MAX

/* --- events -----------------------------------------------------------------------------------*/

static void add_root(struct attached *attached, pid_t tid)
{
	map_set(&attached->roots, (uint64_t)tid, attached->roots.nr + 1);
	map_set(&attached->root_of, (uint64_t)tid, (uint64_t)tid);
}

/* It may end meanwhile: then there is nothing to open. */
static int open_thread(struct attached *attached, pid_t tid, struct events *events,
		       struct error *err)
{
	struct error error = ERROR_INIT;
	int ret = events_add(events, tid, &error);

	if (ret == -ESRCH)
		return 0;
	if (ret < 0)
		*err = error;
	else
		add_root(attached, tid);
	return ret;
}

/* How many there were that had no events; negative: a failure. */
static int open_new(struct attached *attached, const struct attach_threads *threads,
		    struct events *events, struct error *err)
{
	int ret = 0, nr = 0;

	for (size_t i = 0; i < threads->nr && ret >= 0; i++) {
		if (map_find(&attached->roots, (uint64_t)threads->at[i]))
			continue;
		ret = open_thread(attached, threads->at[i], events, err);
		nr++;
	}
	return ret < 0 ? ret : nr;
}

int attached_open_threads(struct attached *attached, const struct attach_threads *threads,
			  struct events *events, struct error *err)
{
	int ret;

	add_root(attached, events->at[0].tid);
	ret = open_new(attached, threads, events, err);
	return ret < 0 ? ret : 0;
}

int attached_open_others(struct attached *attached, const struct attach *attach,
			 struct events *events, struct error *err)
{
	int ret = 1, looks = 0, nr = 0;

	while (ret > 0 && looks++ < LOOKS_MAX) {
		struct attach_threads threads = { 0 };

		attach_all_threads(attach, &threads);
		ret = open_new(attached, &threads, events, err);
		nr += ret;
		vec_free(&threads);
	}
	log_debug(LOG_TARGET, "looked for threads %d times more", looks);
	return ret < 0 ? ret : nr;
}

void attached_release(struct attached *attached)
{
	map_release(&attached->roots);
	map_release(&attached->root_of);
}

static uint64_t number(const struct attached *attached, pid_t root)
{
	const uint64_t *found = map_find(&attached->roots, (uint64_t)root);

	return found ? *found : 0;
}

static void close_root(struct attached *attached, struct events *events, pid_t root)
{
	log_debug(LOG_TARGET, "thread %d had inherited events", (int)root);
	events_remove(events, root);
	map_set(&attached->roots, (uint64_t)root, CLOSED);
}

bool attached_counts(struct attached *attached, struct events *events, pid_t root, pid_t tid)
{
	const uint64_t *known = map_find(&attached->root_of, (uint64_t)tid);
	pid_t other = known ? (pid_t)*known : root;

	if (number(attached, root) == CLOSED)
		return false;
	if (other != root && number(attached, other) < number(attached, root)) {
		close_root(attached, events, root);
		return false;
	}
	if (other != root && number(attached, other) != CLOSED)
		close_root(attached, events, other);
	map_set(&attached->root_of, (uint64_t)tid, (uint64_t)root);
	return true;
}

void attached_ended(struct attached *attached, pid_t tid)
{
	map_remove(&attached->root_of, (uint64_t)tid);
}

/* --- what was there before --------------------------------------------------------------------*/

static void tell_threads(struct processes *processes, pid_t pid, uint64_t now_ns)
{
	struct attach_threads threads = { 0 };

	attach_threads(pid, &threads);
	vec_each(&threads, tid)
	{
		char path[64], name[64] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)*tid);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file)) {
			name[strcspn(name, "\n")] = '\0';
			processes_rename(processes, now_ns, pid, *tid, name);
		}
		if (file)
			fclose(file);
	}
	vec_free(&threads);
}

void attached_tell(const struct attach *attach, struct modules *modules,
		   struct processes *processes, uint64_t now_ns)
{
	vec_each(attach, at)
	{
		struct image_facts facts;
		struct process *process;

		image_facts_read(&facts, at->thread, NULL);
		image_facts_drop_padding(&facts);
		process = processes_attach(processes, at->pid, &facts, now_ns);
		image_facts_release(&facts);
		tell_threads(processes, at->pid, now_ns);
		mappings_read(&process->space, at->thread, modules);
	}
}
