/* SPDX-License-Identifier: MIT */
#include "report/analyze/memory.h"

#include <math.h>
#include <string.h>

#include "base/distance.h"
#include "report/load/course.h"

struct work {
	struct memory *memory;
	const struct profile *profile;
	const struct selection *selection;
	uint32_t process;
};

/* Why nobody looked. */
static const char *why_unseen(const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_quality; i++) {
		const struct profile_quality *row = &profile->quality[i];

		if (row->kind == PROFILE_UNREADABLE && row->detail &&
		    !strncmp(row->detail, PROFILE_MEMORY_UNREADABLE,
			     strlen(PROFILE_MEMORY_UNREADABLE)))
			return row->detail;
	}
	return "it ended before anybody looked";
}

/* --- the largest RSS --------------------------------------------------------------------------*/

/* One process knows its own maximum; of several, only what was seen. */
static void find_peak(struct work *w)
{
	struct id_range range = selection_range(w->profile, w->process);
	uint64_t most = 0;
	size_t nr = 0;

	for (uint32_t id = range.from; id < range.to; id++) {
		struct course course = { 0 };

		if (selection_wants(w->selection, w->process, id))
			course = course_of_memory(w->profile, id);
		for (size_t i = course.from; i < course.to; i++)
			if (w->profile->memory[i].peak_rss_bytes > most)
				most = w->profile->memory[i].peak_rss_bytes;
		nr += course.from < course.to;
	}
	w->memory->seen = nr > 0;
	w->memory->most_of_one_bytes = most;
	w->memory->reason = !nr ? why_unseen(w->profile) : nr > 1 ? NO_COMMON_PEAK : NULL;
	w->memory->peak_rss_bytes = figure_or_absent(w->memory->reason, (double)most);
}

/* --- at the heap's peak -----------------------------------------------------------------------*/

static bool runs_at(const struct profile_process *process, int64_t time_us)
{
	return process->start_us <= time_us &&
	       (process->end_us == PROFILE_NO_TIME || process->end_us >= time_us);
}

/* NULL: the process did not run then, or was never looked at. */
static const struct profile_memory *nearest(const struct work *w, uint32_t id, int64_t time_us)
{
	const struct profile_memory *found = NULL, *look = w->profile->memory;
	struct course course = course_of_memory(w->profile, id);

	if (!runs_at(&w->profile->processes[id], time_us))
		return NULL;
	for (size_t i = course.from; i < course.to; i++)
		if (!found ||
		    distance_s64(look[i].time_us, time_us) < distance_s64(found->time_us, time_us))
			found = &look[i];
	return found;
}

/* Where there is no slice, what was live lasts. */
static uint64_t live_at(const struct profile *profile, uint32_t process, int64_t time_us)
{
	struct course course = course_of_slices(profile, process);
	uint64_t live = 0;

	for (size_t i = course.from; i < course.to; i++) {
		const struct profile_slice *slice = &profile->slices[i];

		if (slice->time_us > time_us)
			break;
		live = (uint64_t)(time_us - slice->time_us) < slice->duration_us
			       ? slice->max_live_bytes
			       : slice->live_bytes;
	}
	return live;
}

static void add_look(struct work *w, const struct profile_memory *look, int64_t peak_us)
{
	struct memory_moment *moment = &w->memory->at_heap_peak;
	double time_s = (double)look->time_us / 1e6;

	/* Of several looks, the one that is farthest off. */
	if (!moment->known || distance_s64(look->time_us, peak_us) >
				      distance_s64((int64_t)(moment->time_s * 1e6), peak_us))
		moment->time_s = time_s;
	moment->known = true;
	moment->rss_bytes += profile_rss_bytes(look);
	moment->anonymous_bytes += look->anonymous_bytes;
	moment->file_bytes += look->file_bytes;
	moment->shared_bytes += look->shared_bytes;
	moment->swap_bytes += look->swap_bytes;
	moment->heap_bytes += live_at(w->profile, look->process, look->time_us);
}

/* The most that a process ever had, if that was asked for at this time or later; else 0. */
static uint64_t most_ever(const struct work *w, uint32_t id, int64_t time_us)
{
	struct course course = course_of_memory(w->profile, id);
	uint64_t most = 0;

	for (size_t i = course.from; i < course.to; i++)
		if (w->profile->memory[i].peak_rss_bytes > most)
			most = w->profile->memory[i].peak_rss_bytes;
	return course.from < course.to && w->profile->memory[course.to - 1].time_us >= time_us
		       ? most
		       : 0;
}

/*
 * One look says little: it is some milliseconds off, and meanwhile blocks are allocated, touched
 * and freed.  The kernel's own maximum does, of each process that then ran.
 */
static bool is_partial(const struct work *w, const struct heap *heap, int64_t peak_us)
{
	struct id_range range = selection_range(w->profile, w->process);
	double all = heap->peak_bytes_error.absent ? 0 : 2 * heap->peak_bytes_error.value;

	for (uint32_t id = range.from; id < range.to; id++) {
		uint64_t most;

		if (!selection_wants(w->selection, w->process, id) ||
		    !runs_at(&w->profile->processes[id], peak_us))
			continue;
		most = most_ever(w, id, peak_us);
		if (!most)
			return false;
		all += (double)most;
	}
	return heap->peak_bytes.value > all;
}

static void look_at_peak(struct work *w, const struct heap *heap, int64_t peak_us)
{
	struct id_range range = selection_range(w->profile, w->process);
	struct memory_moment *moment = &w->memory->at_heap_peak;

	for (uint32_t id = range.from; id < range.to; id++) {
		const struct profile_memory *look = selection_wants(w->selection, w->process, id)
							    ? nearest(w, id, peak_us)
							    : NULL;

		if (look)
			add_look(w, look, peak_us);
	}
	if (!moment->known)
		moment->reason = why_unseen(w->profile);
	else if (moment->anonymous_bytes < moment->heap_bytes)
		moment->reason = "less was resident at that moment than live";
	moment->other_bytes = figure_or_absent(moment->reason, (double)moment->anonymous_bytes -
								       (double)moment->heap_bytes);
	moment->is_partial =
		moment->known && !heap->peak_bytes.absent && is_partial(w, heap, peak_us);
}

void memory_analyze(struct memory *memory, const struct profile *profile,
		    const struct selection *selection, uint32_t process, const struct heap *heap)
{
	struct work w = { memory, profile, selection, process };

	*memory = (struct memory){ 0 };
	find_peak(&w);
	if (!heap->tracked)
		memory->at_heap_peak.reason = heap->reason;
	else if (heap->peak_time_s.absent)
		memory->at_heap_peak.reason = heap->peak_time_s.absent;
	else
		look_at_peak(&w, heap, llround(heap->peak_time_s.value * 1e6));
}
