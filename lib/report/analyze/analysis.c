/* SPDX-License-Identifier: MIT */
#include "report/analyze/analysis.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "report/analyze/quality.h"
#include "report/analyze/reasons.h"
#include "report/analyze/thread_starts.h"

/* Of all processes together, and of each even so. */
#define PROCESS_SLICES (16 * HISTORY_SLICES)
#define FEWEST_SLICES 32

static struct figure exit_figure(int status)
{
	return status < 0 ? FIGURE_ABSENT("not ended by exit") : FIGURE(status);
}

static struct figure signal_figure(int number)
{
	return number ? FIGURE(number) : FIGURE_ABSENT("not ended by a signal");
}

static void describe_run(struct analysis *a, const struct profile *profile)
{
	const struct profile_run *run = &profile->run;

	a->cprof_version = run->cprof_version;
	a->exit_status = exit_figure(run->exit_status);
	a->signal = signal_figure(run->signal);
	a->wall_s = time_figure(run->wall_us);
	a->complete = run->complete;
	if (!profile->nr_processes)
		return;
	a->end_known = profile->processes[0].end_us != PROFILE_NO_TIME;
	a->command = (struct texts){ profile->processes[0].arguments,
				     profile->processes[0].nr_arguments };
}

static void count_pids(struct analysis *a, const struct profile *profile,
		       const struct selection *selection)
{
	struct map pids = { 0 };

	for (size_t i = 0; i < profile->nr_processes; i++)
		if (selection->processes[i])
			map_set(&pids, (uint64_t)profile->processes[i].pid, 1);
	a->nr_pids = pids.nr;
	map_release(&pids);
}

/* The first thread of a process stays the same when it executes another program. */
static void count_threads(struct analysis *a)
{
	struct map first = { 0 };

	for (size_t i = 0; i < a->threads.rows.nr; i++) {
		const struct thread_row *row = a->threads.rows.at[i];

		if (row->tid == row->pid)
			map_set(&first, (uint64_t)row->pid, 1);
		else
			a->nr_threads++;
	}
	a->nr_threads += first.nr;
	map_release(&first);
}

static struct figure parent_pid(const struct profile *profile,
				const struct profile_process *process)
{
	if (process->parent == PROFILE_NONE)
		return FIGURE_ABSENT("started by cprof");
	return FIGURE(profile->processes[process->parent].pid);
}

/* What is known of the heap is not about what was selected.  Its course over time stays. */
static void withhold_heap(struct heap *heap, const char *reason)
{
	struct history timeline = heap->timeline;
	const char *mode = heap->mode;

	if (!heap->tracked)
		return;
	heap->timeline = (struct history){ 0 };
	heap_release(heap);
	*heap = (struct heap){
		.mode = mode, .withheld = true, .reason = reason, .timeline = timeline
	};
	heap->sites.absent = reason;
}

static void add_timeline(struct heap *heap, const struct profile *profile,
			 const struct history_scope *scope)
{
	struct history_scope with_heap = *scope;

	with_heap.no_heap = heap->tracked && heap->followed ? NULL : heap->reason;
	history_analyze(&heap->timeline, profile, &with_heap);
}

static void explain_timeline(struct analysis *a)
{
	struct history *timeline = &a->heap.timeline;

	a->timeline_reason = reasons_of_sides(&a->texts, timeline->no_cpu, timeline->no_heap);
	timeline->rows.absent = timeline->is_empty ? a->timeline_reason : NULL;
}

/* A document about thousands of processes stays readable: it was 99 % such slices. */
static size_t slices_of_each(const struct selection *selection, const struct profile *profile)
{
	size_t nr = 0, slices;

	for (size_t i = 0; i < profile->nr_processes; i++)
		nr += selection->processes[i];
	slices = PROCESS_SLICES / (nr ?: 1);
	return slices > HISTORY_SLICES	? HISTORY_SLICES
	       : slices < FEWEST_SLICES ? FEWEST_SLICES
					: slices;
}

static void fill_process(struct analysis *a, struct process_row *row, const struct profile *profile,
			 uint32_t id, const struct selection *selection,
			 const struct analysis_options *options)
{
	const struct profile_process *process = &profile->processes[id];

	*row = (struct process_row){
		.pid = process->pid,
		.image = (int)process->image,
		.parent = parent_pid(profile, process),
		.command = { process->arguments, process->nr_arguments },
		.start_s = time_figure(process->start_us),
		.end_s = time_figure(process->end_us),
		.executed = process->executed,
		.replaced = process->replaced,
		.exit_status = exit_figure(process->exit_status),
		.signal = signal_figure(process->signal),
		.cpu = a->cpu.processes[id],
	};
	heap_analyze(&row->heap, profile, &a->places,
		     &(struct heap_scope){ .process = id,
					   .processes = selection->processes,
					   .threads = &a->threads_by_tid,
					   .no_sites = !options->process_sites });
	if (options->process_sites)
		add_timeline(&row->heap, profile,
			     &(struct history_scope){ .process = id,
						      .selection = selection,
						      .slices = a->process_slices });
	row->tracked = row->heap.tracked;
	if (!span_is_all(&selection->span))
		withhold_heap(&row->heap, HEAP_OF_THE_WHOLE_RUN);
	memory_analyze(&row->memory, profile, selection, id, &row->heap);
	row->reason = row->heap.reason;
	row->cpu_share = row->cpu.sampled ? FIGURE(row->cpu.share) : FIGURE_ABSENT(row->cpu.reason);
	row->heap_peak = row->heap.tracked ? row->heap.peak_bytes : FIGURE_ABSENT(row->reason);
	row->heap_allocations = row->heap.tracked ? FIGURE((double)row->heap.allocations)
						  : FIGURE_ABSENT(row->reason);
}

static void list_processes(struct analysis *a, const struct profile *profile,
			   const struct selection *selection,
			   const struct analysis_options *options)
{
	a->process_slices = slices_of_each(selection, profile);
	a->process_storage = xcalloc(profile->nr_processes + 1, sizeof(a->process_storage[0]));
	for (uint32_t id = 0; id < profile->nr_processes; id++) {
		struct process_row *row = &a->process_storage[a->processes.nr];

		if (!selection->processes[id])
			continue;
		fill_process(a, row, profile, id, selection, options);
		vec_push(&a->processes, row);
	}
}

static int by_use(const void *a, const void *b)
{
	const struct process_row *p = *(const struct process_row *const *)a;
	const struct process_row *q = *(const struct process_row *const *)b;

	if (p->cpu.share != q->cpu.share)
		return p->cpu.share < q->cpu.share ? 1 : -1;
	if (p->heap.allocations != q->heap.allocations)
		return p->heap.allocations < q->heap.allocations ? 1 : -1;
	return p < q ? -1 : p > q;
}

static void list_busy_processes(struct analysis *a)
{
	for (size_t i = 0; i < a->processes.nr; i++) {
		const struct process_row *row = a->processes.at[i];

		if (row->cpu.samples || row->heap.allocations)
			vec_push(&a->busy_processes, row);
	}
	if (a->busy_processes.nr)
		qsort(a->busy_processes.at, a->busy_processes.nr, sizeof(a->busy_processes.at[0]),
		      by_use);
}

/* --- heap --- */

static int by_leaked(const void *a, const void *b)
{
	const struct heap_site *s = *(const struct heap_site *const *)a;
	const struct heap_site *t = *(const struct heap_site *const *)b;

	if (s->leaked_bytes != t->leaked_bytes)
		return s->leaked_bytes < t->leaked_bytes ? 1 : -1;
	return s->leaked_blocks < t->leaked_blocks   ? 1
	       : s->leaked_blocks > t->leaked_blocks ? -1
						     : 0;
}

static void list_leaks(struct analysis *a)
{
	a->leaks.absent = a->heap.sites.absent;
	for (size_t i = 0; i < a->heap.sites.nr; i++) {
		const struct heap_site *site = a->heap.sites.at[i];

		if (site->leaked_blocks)
			vec_push(&a->leaks, site);
	}
	if (a->leaks.nr)
		qsort(a->leaks.at, a->leaks.nr, sizeof(a->leaks.at[0]), by_leaked);
}

static int by_calls(const void *a, const void *b)
{
	const struct heap_site *s = *(const struct heap_site *const *)a;
	const struct heap_site *t = *(const struct heap_site *const *)b;

	return s->calls < t->calls ? 1 : s->calls > t->calls ? -1 : 0;
}

static int by_allocated(const void *a, const void *b)
{
	const struct heap_site *s = *(const struct heap_site *const *)a;
	const struct heap_site *t = *(const struct heap_site *const *)b;

	return s->allocated_bytes < t->allocated_bytes	 ? 1
	       : s->allocated_bytes > t->allocated_bytes ? -1
							 : 0;
}

static void list_sites(const struct heap *heap, struct rows *rows,
		       int (*order)(const void *a, const void *b))
{
	for (size_t i = 0; i < heap->sites.nr; i++)
		vec_push(rows, heap->sites.at[i]);
	if (rows->nr)
		qsort(rows->at, rows->nr, sizeof(rows->at[0]), order);
}

static void list_threads(struct analysis *a, const struct profile *profile,
			 const struct selection *selection, const struct analysis_options *options)
{
	const char **starts =
		options->thread_starts ? thread_starts(profile, &a->places, selection) : NULL;

	threads_analyze(&a->threads, profile, selection, starts, &a->cpu, &a->texts);
	free(starts);
}

void analysis_init(struct analysis *a, const struct profile *profile,
		   const struct selection *selection, const struct analysis_options *options)
{
	*a = (struct analysis){ 0 };
	chains_init(&a->chains, profile, options->no_inline);
	heap_places_init(&a->places, &a->chains);
	a->threads_by_tid = heap_handoffs_threads(profile);
	describe_run(a, profile);
	count_pids(a, profile, selection);
	cpu_analyze(&a->cpu, profile, &a->chains, selection);
	heap_analyze(&a->heap, profile, &a->places,
		     &(struct heap_scope){ .process = PROFILE_NONE,
					   .processes = selection->processes,
					   .threads = &a->threads_by_tid });
	if (selection->by_thread)
		withhold_heap(&a->heap,
			      "heap figures are of whole processes, not of single threads");
	add_timeline(&a->heap, profile,
		     &(struct history_scope){ .process = PROFILE_NONE,
					      .selection = selection,
					      .no_cpu = a->cpu.sampled ? NULL : a->cpu.reason,
					      .samples = options->samples });
	explain_timeline(a);
	if (!span_is_all(&selection->span))
		withhold_heap(&a->heap, HEAP_OF_THE_WHOLE_RUN);
	memory_analyze(&a->memory, profile, selection, PROFILE_NONE, &a->heap);
	list_leaks(a);
	list_sites(&a->heap, &a->busy_sites, by_calls);
	list_sites(&a->heap, &a->large_sites, by_allocated);
	list_processes(a, profile, selection, options);
	list_busy_processes(a);
	list_threads(a, profile, selection, options);
	count_threads(a);
	module_table_analyze(&a->modules, &a->chains, selection, &a->cpu, &a->heap, &a->texts);
	if (options->callers)
		callers_analyze(&a->callers, &a->chains, selection, &a->cpu, &a->heap, &a->texts);
	quality_list(a, profile);
}

void analysis_release(struct analysis *a)
{
	for (size_t i = 0; i < a->processes.nr; i++)
		heap_release(&a->process_storage[i].heap);
	free(a->process_storage);
	threads_release(&a->threads);
	module_table_release(&a->modules);
	callers_release(&a->callers);
	free(a->quality_storage);
	free(a->note_storage);
	free(a->notes.at);
	free(a->leaks.at);
	free(a->busy_sites.at);
	free(a->large_sites.at);
	free(a->processes.at);
	free(a->busy_processes.at);
	free(a->quality.at);
	heap_release(&a->heap);
	cpu_release(&a->cpu);
	map_release(&a->threads_by_tid);
	heap_places_release(&a->places);
	chains_release(&a->chains);
	intern_release(&a->texts);
	*a = (struct analysis){ 0 };
}
