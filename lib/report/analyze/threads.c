/* SPDX-License-Identifier: MIT */
#include "report/analyze/threads.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "report/analyze/heap.h"

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
	row->reason = reason;
	row->allocations = figure_or_absent(reason, (double)heap->allocations);
	row->frees = figure_or_absent(reason, (double)heap->frees);
	row->reallocations = figure_or_absent(reason, (double)heap->reallocations);
	row->allocated_bytes = figure_or_absent(reason, (double)heap->allocated_bytes);
	row->freed_bytes = figure_or_absent(reason, (double)heap->freed_bytes);
	row->temporary = figure_or_absent(reason, (double)heap->temporary);
}

/* --- rows --- */

static void fill(struct thread_row *row, const struct profile *profile,
		 const struct selection *selection, const struct profile_thread *thread)
{
	const struct profile_process *process = &profile->processes[thread->process];
	const char *reason = heap_why_unfollowed(profile, thread->process);

	if (!reason && !span_is_all(&selection->span))
		reason = HEAP_OF_THE_WHOLE_RUN;
	*row = (struct thread_row){
		.pid = process->pid,
		.image = (int)process->image,
		.tid = thread->tid,
		.name = thread->name,
		.command = { process->arguments, process->nr_arguments },
		.start_s = time_figure(thread->start_us),
		.end_s = time_figure(thread->end_us),
	};
	fill_heap(row, find_heap(profile, thread->process, thread->tid), reason);
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
static struct thread_row *add(struct threads *threads, const struct profile *profile,
			      const struct selection *selection,
			      const struct profile_thread *thread, const struct cpu_use *cpu,
			      const char *why_no_cpu)
{
	struct thread_row *row = &threads->storage[threads->rows.nr];

	vec_push(&threads->rows, row);
	fill(row, profile, selection, thread);
	fill_cpu(row, cpu, why_no_cpu);
	return row;
}

static void add_heap_thread(struct threads *threads, const struct profile *profile,
			    const struct selection *selection,
			    const struct profile_heap_thread *heap, const struct cpu *cpu)
{
	const struct profile_thread thread = { .process = heap->process,
					       .tid = heap->tid,
					       .start_us = PROFILE_NO_TIME,
					       .end_us = PROFILE_NO_TIME };

	add(threads, profile, selection, &thread, NULL,
	    cpu->reason ?: "the CPU side saw none of it");
}

void threads_analyze(struct threads *threads, const struct profile *profile,
		     const struct selection *selection, const char *const *starts,
		     const struct cpu *cpu)
{
	size_t most = profile->nr_threads + profile->nr_heap_threads;

	*threads = (struct threads){ .storage = xcalloc(most + 1, sizeof(threads->storage[0])) };
	for (size_t i = 0; i < profile->nr_threads; i++)
		if (selection->threads[i])
			add(threads, profile, selection, &profile->threads[i], &cpu->threads[i],
			    cpu->reason)
				->start_function = starts ? starts[i] : NULL;
	for (size_t i = 0; i < profile->nr_heap_threads; i++)
		if (selection->heap_threads[i])
			add_heap_thread(threads, profile, selection, &profile->heap_threads[i],
					cpu);
	if (threads->rows.nr)
		qsort(threads->rows.at, threads->rows.nr, sizeof(threads->rows.at[0]), by_use);
}

void threads_release(struct threads *threads)
{
	free(threads->storage);
	free(threads->rows.at);
	*threads = (struct threads){ 0 };
}
