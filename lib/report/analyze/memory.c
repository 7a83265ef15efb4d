/* SPDX-License-Identifier: MIT */
#include "report/analyze/memory.h"

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
	w->memory->reason = nr ? NULL : why_unseen(w->profile);
	if (!nr)
		w->memory->peak_rss_bytes = FIGURE_ABSENT(w->memory->reason);
	else if (nr > 1)
		w->memory->peak_rss_bytes = FIGURE_ABSENT(NO_COMMON_PEAK);
	else
		w->memory->peak_rss_bytes = FIGURE((double)most);
}

/* --- at the heap's peak -----------------------------------------------------------------------*/

/* NULL: the process did not run then, or was never looked at. */
static const struct profile_memory *nearest(const struct work *w, uint32_t id, int64_t time_us)
{
	const struct profile_process *process = &w->profile->processes[id];
	const struct profile_memory *found = NULL, *look = w->profile->memory;
	struct course course = course_of_memory(w->profile, id);

	if (process->start_us > time_us ||
	    (process->end_us != PROFILE_NO_TIME && process->end_us < time_us))
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

static void look_at_peak(struct work *w, int64_t peak_us)
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
		moment->reason = w->memory->reason ?: why_unseen(w->profile);
	moment->other_bytes =
		moment->anonymous_bytes >= moment->heap_bytes
			? FIGURE((double)(moment->anonymous_bytes - moment->heap_bytes))
			: FIGURE_ABSENT("not all of the heap was resident");
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
		look_at_peak(&w, (int64_t)(heap->peak_time_s.value * 1e6));
}
