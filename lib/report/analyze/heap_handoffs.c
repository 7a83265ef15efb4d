/* SPDX-License-Identifier: MIT */
#include "report/analyze/heap_handoffs.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "report/analyze/heap.h"

struct map heap_handoffs_threads(const struct profile *profile)
{
	struct map index = { 0 };

	for (size_t i = 0; profile->nr_heap_handoffs && i < profile->nr_threads; i++)
		map_set(&index,
			map_pair(profile->threads[i].process, (uint32_t)profile->threads[i].tid),
			i);
	return index;
}

static const char *name_of(const struct profile *profile, const struct map *threads,
			   uint32_t process, int32_t tid)
{
	const uint64_t *thread = map_find(threads, map_pair(process, (uint32_t)tid));

	return thread ? profile->threads[*thread].name : NULL;
}

static struct figure tid_figure(int32_t tid)
{
	return tid == PROFILE_OTHER_THREADS ? FIGURE_ABSENT("all other pairs of threads")
					    : FIGURE(tid);
}

static const char *label(struct arena *arena, const char *name, int32_t tid)
{
	char *made;
	const char *kept;

	if (tid == PROFILE_OTHER_THREADS)
		return "others";
	made = xasprintf("%s %d", name ?: "thread", tid);
	kept = arena_strdup(arena, made);
	free(made);
	return kept;
}

static struct heap_handoff row_of(const struct profile *profile, const struct map *threads,
				  const struct profile_heap_handoff *handoff, struct arena *arena)
{
	const struct profile_process *process = &profile->processes[handoff->process];
	struct heap_handoff row = {
		.pid = process->pid,
		.image = (int)process->image,
		.from_tid = tid_figure(handoff->from_tid),
		.to_tid = tid_figure(handoff->to_tid),
		.from_comm = name_of(profile, threads, handoff->process, handoff->from_tid),
		.to_comm = name_of(profile, threads, handoff->process, handoff->to_tid),
		.frees = handoff->frees,
		.freed_bytes = handoff->freed_bytes,
	};

	row.from = label(arena, row.from_comm, handoff->from_tid);
	row.to = label(arena, row.to_comm, handoff->to_tid);
	return row;
}

static int by_frees(const void *a, const void *b)
{
	const struct heap_handoff *s = *(const struct heap_handoff *const *)a;
	const struct heap_handoff *t = *(const struct heap_handoff *const *)b;

	if (s->frees != t->frees)
		return s->frees < t->frees ? 1 : -1;
	return s < t ? -1 : s > t;
}

static void sum_up(struct heap_handoffs *handoffs, struct heap_handoff *rows)
{
	for (size_t i = 0; i < handoffs->rows.nr; i++) {
		handoffs->frees += rows[i].frees;
		handoffs->freed_bytes += rows[i].freed_bytes;
	}
	for (size_t i = 0; i < handoffs->rows.nr; i++)
		rows[i].share =
			handoffs->frees ? (double)rows[i].frees / (double)handoffs->frees : 0;
}

void heap_handoffs_list(struct heap_handoffs *handoffs, const struct profile *profile,
			const struct heap_scope *scope, struct arena *arena)
{
	size_t most = profile->nr_heap_handoffs;
	struct heap_handoff *rows = arena_alloc(arena, (most + 1) * sizeof(*rows));
	const void **at = arena_alloc(arena, (most + 1) * sizeof(*at));
	size_t nr = 0;

	for (size_t i = 0; i < most; i++) {
		const struct profile_heap_handoff *handoff = &profile->heap_handoffs[i];

		if (scope->process == PROFILE_NONE ? !scope->processes[handoff->process]
						   : scope->process != handoff->process)
			continue;
		rows[nr] = row_of(profile, scope->threads, handoff, arena);
		at[nr] = &rows[nr];
		nr++;
	}
	*handoffs = (struct heap_handoffs){ .rows = { .at = at, .nr = nr, .room = nr } };
	sum_up(handoffs, rows);
	if (nr)
		qsort(at, nr, sizeof(at[0]), by_frees);
}
