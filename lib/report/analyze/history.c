/* SPDX-License-Identifier: MIT */
#include "report/analyze/history.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "report/load/course.h"

#define SHORTEST_US 1000

#define NO_CLOCK "the event that was sampled is no clock"

static const char no_looks[] = "no process was looked at by then";

/* Of all heaps, processes, threads together. */
struct cell {
	double live, max, allocations, allocated;
	double rss;
	bool has_rss;
	uint64_t samples;
	double weight;
};

struct work {
	struct history *history;
	const struct profile *profile;
	const struct history_scope *scope;
	int64_t first_us, end_us, width_us;
	struct cell *cells; /* one for each slice of the whole time */
};

static bool wants(const struct work *w, uint32_t process)
{
	return selection_wants(w->scope->selection, w->scope->process, process);
}

/* --- the grid ---------------------------------------------------------------------------------*/

static void find_span(struct work *w)
{
	const struct profile *profile = w->profile;

	w->first_us = 0;
	w->end_us = profile->run.wall_us > 0 ? profile->run.wall_us : 0;
	if (w->scope->process == PROFILE_NONE)
		return;

	const struct profile_process *process = &profile->processes[w->scope->process];

	if (process->start_us > 0 && process->start_us < w->end_us)
		w->first_us = process->start_us;
	if (process->end_us > w->first_us && process->end_us < w->end_us)
		w->end_us = process->end_us;
}

static uint64_t longest_slice(const struct work *w)
{
	const struct profile_slice *slices = w->profile->slices;
	struct course course = { 0, w->profile->nr_slices };
	uint64_t longest = 0;

	if (w->scope->process != PROFILE_NONE)
		course = course_of_slices(w->profile, w->scope->process);
	for (size_t i = course.from; i < course.to; i++)
		if (slices[i].duration_us > longest)
			longest = slices[i].duration_us;
	return longest;
}

static void make_grid(struct work *w)
{
	int64_t most = (int64_t)(w->scope->slices ?: HISTORY_SLICES);
	uint64_t longest = longest_slice(w);

	find_span(w);
	w->width_us = SHORTEST_US;
	while (w->width_us < INT64_MAX / 2 &&
	       ((uint64_t)w->width_us < longest ||
		w->end_us / w->width_us - w->first_us / w->width_us >= most))
		w->width_us *= 2;
	w->first_us -= w->first_us % w->width_us;
	w->history->nr = (size_t)((w->end_us - w->first_us) / w->width_us) + 1;
}

static size_t cell_of(const struct work *w, int64_t time_us)
{
	int64_t cell = time_us < w->first_us ? 0 : (time_us - w->first_us) / w->width_us;
	size_t last = w->history->nr - 1;

	return (uint64_t)cell < last ? (size_t)cell : last;
}

/* --- the heap ---------------------------------------------------------------------------------*/

/* What was live lasts up to the cell before this one. */
static void hold(struct work *w, size_t from, size_t to, uint64_t live)
{
	for (size_t i = from; i < to; i++) {
		w->cells[i].live += (double)live;
		w->cells[i].max += (double)live;
	}
}

/* Where a process has its last part in the sums, and one more. */
static size_t cells_of(const struct work *w, uint32_t process)
{
	int64_t end_us =
		process == PROFILE_NONE ? PROFILE_NO_TIME : w->profile->processes[process].end_us;

	return end_us == PROFILE_NO_TIME ? w->history->nr : cell_of(w, end_us) + 1;
}

/* Several slices may fall into one cell. */
static void add_slices(struct work *w, struct course course, size_t end)
{
	const struct profile_slice *slices = w->profile->slices;
	uint64_t live = 0, max = 0;
	size_t next = 0;

	if (course.from == course.to)
		return;
	for (size_t i = course.from; i < course.to; i++) {
		size_t at = cell_of(w, slices[i].time_us);
		struct cell *cell = &w->cells[at];

		if (at >= next) {
			hold(w, next, at + 1, live);
			next = at + 1;
			max = live;
		}
		if (slices[i].max_live_bytes > max) {
			cell->max += (double)(slices[i].max_live_bytes - max);
			max = slices[i].max_live_bytes;
		}
		cell->live += (double)slices[i].live_bytes - (double)live;
		live = slices[i].live_bytes;
		cell->allocations += (double)slices[i].allocations;
		cell->allocated += (double)slices[i].allocated_bytes;
	}
	hold(w, next, end, live);
}

/* Of a tree that is one process, what it leaked is live to the end: the tree's own slices say what
 * is left when it is gone. */
static uint32_t slices_owner(const struct work *w)
{
	struct course course;

	if (w->scope->process != PROFILE_NONE || w->profile->nr_processes != 1)
		return w->scope->process;
	course = course_of_slices(w->profile, 0);
	return course.from < course.to ? 0 : PROFILE_NONE;
}

/* The number of heaps that were added up: the tree's is one. */
static size_t add_heaps(struct work *w)
{
	bool all = w->scope->process == PROFILE_NONE;
	size_t nr = 0;
	struct course course;

	if (!all || w->scope->selection->all_threads) {
		course = course_of_slices(w->profile, slices_owner(w));
		add_slices(w, course, cells_of(w, w->scope->process));
		return 1;
	}
	for (uint32_t id = 0; id < w->profile->nr_processes; id++) {
		course = course_of_slices(w->profile, id);
		if (course.from == course.to || !wants(w, id))
			continue;
		add_slices(w, course, cells_of(w, id));
		nr++;
	}
	return nr;
}

/* --- memory -----------------------------------------------------------------------------------*/

static void add_rss(struct cell *cell, double bytes)
{
	cell->rss += bytes;
	cell->has_rss = true;
}

/* All of one process: in a cell the most that was seen there, or what was seen last. */
static void add_memory_of(struct work *w, const struct profile_memory *points, size_t nr)
{
	size_t end = cells_of(w, points[0].process);

	for (size_t i = 0; i < nr;) {
		size_t cell = cell_of(w, points[i].time_us), next;
		double most = (double)profile_rss_bytes(&points[i]), latest = most;

		for (i++; i < nr && cell_of(w, points[i].time_us) == cell; i++) {
			latest = (double)profile_rss_bytes(&points[i]);
			most = latest > most ? latest : most;
		}
		next = i < nr ? cell_of(w, points[i].time_us) : end;
		add_rss(&w->cells[cell], most);
		for (cell++; cell < next; cell++)
			add_rss(&w->cells[cell], latest);
	}
}

static void add_memory(struct work *w)
{
	struct id_range range = selection_range(w->profile, w->scope->process);

	for (uint32_t id = range.from; id < range.to; id++) {
		struct course course = { 0 };

		if (wants(w, id))
			course = course_of_memory(w->profile, id);
		if (course.from < course.to)
			add_memory_of(w, &w->profile->memory[course.from], course.to - course.from);
	}
}

/* --- samples ----------------------------------------------------------------------------------*/

static int add_sample(void *context, const struct profile_sample *sample)
{
	struct work *w = context;
	struct cell *cell = &w->cells[cell_of(w, sample->time_us)];

	if (sample->event != 0 || !w->scope->selection->threads[sample->thread] ||
	    profile_is_overhead(w->profile, sample->stack))
		return 0;
	cell->samples++;
	cell->weight += (double)sample->weight;
	return 0;
}

static void add_samples(struct work *w)
{
	struct error err = ERROR_INIT;

	if (w->scope->samples && w->profile->run.cpu_on)
		profile_each_sample(w->profile, add_sample, w, &err);
}

/* --- rows -------------------------------------------------------------------------------------*/

static void find_reasons(struct work *w, size_t nr_heaps)
{
	const struct profile *profile = w->profile;
	bool clock = profile->nr_events && profile_unit_is_time(profile->events[0].unit);

	w->history->no_heap = w->scope->no_heap ?: nr_heaps > 1 ? NO_COMMON_PEAK : NULL;
	w->history->no_cpu = w->scope->no_cpu ?: clock ? NULL : NO_CLOCK;
}

static void fill_heap(const struct work *w, struct time_slice *slice, const struct cell *cell,
		      bool one_moment)
{
	const char *absent = w->scope->no_heap;

	if (absent) {
		slice->live_bytes = slice->max_live_bytes = slice->allocations =
			slice->allocated_bytes = FIGURE_ABSENT(absent);
		return;
	}
	slice->live_bytes = FIGURE(cell->live);
	slice->max_live_bytes = one_moment ? FIGURE(cell->max) : FIGURE_ABSENT(NO_COMMON_PEAK);
	slice->allocations = FIGURE(cell->allocations);
	slice->allocated_bytes = FIGURE(cell->allocated);
}

static void fill_cpu(const struct work *w, struct time_slice *slice, const struct cell *cell)
{
	const struct profile *profile = w->profile;
	bool sampled =
		profile->run.cpu_on && profile->nr_events && w->scope->samples && !w->scope->no_cpu;
	bool clock = sampled && profile_unit_is_time(profile->events[0].unit);

	slice->samples = sampled ? FIGURE((double)cell->samples) : FIGURE_ABSENT("not sampled");
	slice->cpu_s = clock ? FIGURE(cell->weight / 1e9) : FIGURE_ABSENT(NO_CLOCK);
}

static void make_rows(struct work *w, size_t nr_heaps)
{
	struct history *history = w->history;
	const struct span *span = &w->scope->selection->span;
	size_t first = 0, end = history->nr;

	find_reasons(w, nr_heaps);
	history->is_empty = w->scope->no_heap && w->scope->no_cpu;
	if (!span_is_all(span)) {
		first = cell_of(w, span->from_us);
		end = cell_of(w, span->to_us - 1) + 1;
	}
	history->slices = xcalloc(history->nr, sizeof(history->slices[0]));
	history->nr = end - first;
	for (size_t i = first; i < end; i++) {
		struct time_slice *slice = &history->slices[i - first];
		const struct cell *cell = &w->cells[i];

		slice->t_s = (double)(w->first_us + (int64_t)i * w->width_us) / 1e6;
		slice->duration_s = (double)w->width_us / 1e6;
		slice->rss_bytes = cell->has_rss ? FIGURE(cell->rss) : FIGURE_ABSENT(no_looks);
		fill_heap(w, slice, cell, nr_heaps <= 1);
		fill_cpu(w, slice, cell);
		history->is_empty &= !cell->has_rss;
		vec_push(&history->rows, slice);
	}
}

void history_analyze(struct history *history, const struct profile *profile,
		     const struct history_scope *scope)
{
	struct work w = { .history = history, .profile = profile, .scope = scope };

	*history = (struct history){ 0 };
	make_grid(&w);
	w.cells = xcalloc(history->nr, sizeof(w.cells[0]));

	size_t nr_heaps = add_heaps(&w);

	add_memory(&w);
	add_samples(&w);
	make_rows(&w, nr_heaps);
	free(w.cells);
}

void history_release(struct history *history)
{
	free(history->rows.at);
	free(history->slices);
	*history = (struct history){ 0 };
}
