/* SPDX-License-Identifier: MIT */
#include "report/analyze/threads.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "report/analyze/heap.h"
#include "report/analyze/reasons.h"

/* --- heap --- */

static int by_process_and_tid(const void *a, const void *b)
{
	const struct profile_heap_thread *t = a, *u = b;

	if (t->process != u->process)
		return t->process < u->process ? -1 : 1;
	return t->tid < u->tid ? -1 : t->tid > u->tid;
}

/* NULL: it did nothing. */
static const struct profile_heap_thread *find_heap(const struct profile *profile, uint32_t process,
						   int32_t tid)
{
	const struct profile_heap_thread key = { .process = process, .tid = tid };

	return profile->nr_heap_threads
		       ? bsearch(&key, profile->heap_threads, profile->nr_heap_threads, sizeof(key),
				 by_process_and_tid)
		       : NULL;
}

static void fill_heap(struct thread_row *row, const struct profile_heap_thread *heap,
		      const char *reason)
{
	static const struct profile_heap_thread nothing;

	heap = heap ?: &nothing;
	row->allocations = figure_or_absent(reason, (double)heap->allocations);
	row->frees = figure_or_absent(reason, (double)heap->frees);
	row->reallocations = figure_or_absent(reason, (double)heap->reallocations);
	row->allocated_bytes = figure_or_absent(reason, (double)heap->allocated_bytes);
	row->freed_bytes = figure_or_absent(reason, (double)heap->freed_bytes);
	row->temporary = figure_or_absent(reason, (double)heap->temporary);
}

/* --- rows --- */

struct work {
	struct threads *threads;
	const struct profile *profile;
	const struct selection *selection;
	const struct cpu *cpu;
	struct intern *texts;
};

/* process: PROFILE_NONE: of all of them. */
static const char *why_no_heap(const struct work *w, uint32_t process)
{
	const char *reason = heap_why_unfollowed(w->profile, process);

	if (!reason && !span_is_all(&w->selection->span))
		reason = HEAP_OF_THE_WHOLE_RUN;
	return reason;
}

static void fill(struct thread_row *row, const struct work *w, const struct profile_thread *thread,
		 const char *no_heap)
{
	const struct profile *profile = w->profile;
	const struct profile_process *process = &profile->processes[thread->process];

	*row = (struct thread_row){
		.pid = process->pid,
		.image = (int)process->image,
		.tid = thread->tid,
		.name = thread->name,
		.command = { process->arguments, process->nr_arguments },
		.start_s = time_figure(thread->start_us),
		.end_s = time_figure(thread->end_us),
	};
	fill_heap(row, find_heap(profile, thread->process, thread->tid), no_heap);
}

static void fill_cpu(struct thread_row *row, const struct cpu_use *cpu, const char *reason)
{
	bool sampled = cpu && cpu->sampled;

	row->samples = sampled ? FIGURE((double)cpu->samples) : FIGURE_ABSENT(reason);
	row->share = sampled ? FIGURE(cpu->share) : FIGURE_ABSENT(reason);
}

static int by_use(const void *a, const void *b)
{
	const struct thread_row *t = *(const struct thread_row *const *)a;
	const struct thread_row *u = *(const struct thread_row *const *)b;

	if (t->share.value != u->share.value)
		return t->share.value < u->share.value ? 1 : -1;
	if (t->allocations.value != u->allocations.value)
		return t->allocations.value < u->allocations.value ? 1 : -1;
	return t < u ? -1 : t > u;
}

/* cpu: NULL where the CPU side did not see the thread. */
static struct thread_row *add(struct work *w, const struct profile_thread *thread,
			      const struct cpu_use *cpu, const char *no_cpu)
{
	struct thread_row *row = &w->threads->storage[w->threads->rows.nr];
	const char *no_heap = why_no_heap(w, thread->process);

	vec_push(&w->threads->rows, row);
	fill(row, w, thread, no_heap);
	fill_cpu(row, cpu, no_cpu);
	row->reason = reasons_of_sides(w->texts, no_cpu, no_heap);
	return row;
}

static const char *why_unseen(const struct cpu *cpu, uint32_t process)
{
	if (!cpu->sampled)
		return cpu->reason;
	return cpu->processes[process].reason ?: "the CPU side saw none of it";
}

static void add_heap_thread(struct work *w, const struct profile_heap_thread *heap)
{
	const struct profile_thread thread = { .process = heap->process,
					       .tid = heap->tid,
					       .start_us = PROFILE_NO_TIME,
					       .end_us = PROFILE_NO_TIME };

	add(w, &thread, NULL, why_unseen(w->cpu, heap->process));
}

void threads_analyze(struct threads *threads, const struct profile *profile,
		     const struct selection *selection, const char *const *starts,
		     const struct cpu *cpu, struct intern *texts)
{
	struct work w = { threads, profile, selection, cpu, texts };
	size_t most = profile->nr_threads + profile->nr_heap_threads;

	*threads = (struct threads){ .storage = xcalloc(most + 1, sizeof(threads->storage[0])) };
	for (size_t i = 0; i < profile->nr_threads; i++)
		if (selection->threads[i])
			add(&w, &profile->threads[i], &cpu->threads[i], cpu->threads[i].reason)
				->start_function = starts ? starts[i] : NULL;
	for (size_t i = 0; i < profile->nr_heap_threads; i++)
		if (selection->heap_threads[i])
			add_heap_thread(&w, &profile->heap_threads[i]);
	if (!threads->rows.nr && !cpu->sampled)
		threads->rows.absent =
			reasons_of_sides(texts, cpu->reason, why_no_heap(&w, PROFILE_NONE));
	if (threads->rows.nr)
		qsort(threads->rows.at, threads->rows.nr, sizeof(threads->rows.at[0]), by_use);
}

void threads_release(struct threads *threads)
{
	free(threads->storage);
	free(threads->rows.at);
	*threads = (struct threads){ 0 };
}
