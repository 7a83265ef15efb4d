/* SPDX-License-Identifier: MIT */
#include "record/aggregate/aggregate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/aggregate/maps.h"
#include "record/aggregate/places.h"
#include "record/aggregate/rows.h"
#include "record/aggregate/sampled.h"

/* Rows of a course of time, or that all so far of this process are to be forgotten. */
struct slices {
	struct slice_change {
		bool clear;
		struct profile_slice row;
	} * at;
	size_t nr, room;
};

struct memory {
	struct memory_change {
		bool clear;
		struct profile_memory row;
	} * at;
	size_t nr, room;
};

/*
 * What was not passed on yet of rows that others say as a whole each time: once it is, nobody needs
 * them here.  A long recording has millions.
 */
struct fresh_rows {
	/* A row of heap_sites owns its histograms. */
	struct rows processes, threads, heaps, heap_sites, heap_sizes, heap_threads, heap_handoffs;
	struct arena texts; /* of processes and threads */
	struct slices slices;
	struct memory memory;
};

/* Where among them a row is. */
struct fresh_index {
	struct map processes, threads;		 /* id -> row */
	struct map heaps;			 /* process -> row */
	struct map sites[PROFILE_NR_ALLOCATORS]; /* process, stack -> row */
	struct map heap_sizes;			 /* process, most_bytes's log2 -> row */
	struct map heap_threads;		 /* process, tid -> row */
	struct map handoffs_of;			 /* process -> which of: */
	struct maps heap_handoffs;		 /* tid, tid -> row */
};

struct aggregate {
	pthread_mutex_t lock;
	struct intern texts;

	struct places places;
	struct sampled sampled;
	uint32_t nr_processes, nr_threads; /* ids given out */
	struct fresh_rows fresh;
	struct fresh_index fresh_index;
	struct rows events, quality;
	struct intern quality_keys; /* numbered like quality */
};

static struct fresh_rows no_rows(void)
{
	return (struct fresh_rows){
		.processes = ROWS(struct profile_process),
		.threads = ROWS(struct profile_thread),
		.heaps = ROWS(struct profile_heap),
		.heap_sites = ROWS(struct profile_heap_site),
		.heap_sizes = ROWS(struct profile_heap_size),
		.heap_threads = ROWS(struct profile_heap_thread),
		.heap_handoffs = ROWS(struct profile_heap_handoff),
	};
}

struct aggregate *aggregate_new(void)
{
	struct aggregate *aggregate = xcalloc(1, sizeof(*aggregate));

	pthread_mutex_init(&aggregate->lock, NULL);
	places_init(&aggregate->places);
	sampled_init(&aggregate->sampled);
	aggregate->fresh = no_rows();
	aggregate->events = ROWS(struct profile_event);
	aggregate->quality = ROWS(struct profile_quality);
	return aggregate;
}

static void release_index(struct fresh_index *index)
{
	map_release(&index->processes);
	map_release(&index->threads);
	map_release(&index->heaps);
	for (size_t i = 0; i < ARRAY_SIZE(index->sites); i++)
		map_release(&index->sites[i]);
	map_release(&index->heap_sizes);
	map_release(&index->heap_threads);
	map_release(&index->handoffs_of);
	maps_release(&index->heap_handoffs);
}

static void free_histograms(struct profile_heap_site *site)
{
	free((void *)site->sizes.at);
	free((void *)site->lifetimes.at);
	site->sizes = site->lifetimes = (struct profile_histogram){ 0 };
}

static void copy_histogram(struct profile_histogram *histogram)
{
	size_t size = histogram->nr * sizeof(histogram->at[0]);

	histogram->at = size ? memcpy(xmalloc(size), histogram->at, size) : NULL;
}

static void release_sites(struct rows *sites)
{
	struct profile_heap_site *site = (void *)sites->at;

	for (size_t i = 0; i < sites->nr; i++)
		free_histograms(&site[i]);
	rows_release(sites);
}

static void release_fresh(struct fresh_rows *fresh)
{
	rows_release(&fresh->processes);
	rows_release(&fresh->threads);
	rows_release(&fresh->heaps);
	release_sites(&fresh->heap_sites);
	rows_release(&fresh->heap_sizes);
	rows_release(&fresh->heap_threads);
	rows_release(&fresh->heap_handoffs);
	arena_release(&fresh->texts);
	vec_free(&fresh->slices);
	vec_free(&fresh->memory);
}

void aggregate_free(struct aggregate *aggregate)
{
	if (!aggregate)
		return;

	places_release(&aggregate->places);
	sampled_release(&aggregate->sampled);
	release_fresh(&aggregate->fresh);
	release_index(&aggregate->fresh_index);
	rows_release(&aggregate->events);
	rows_release(&aggregate->quality);
	intern_release(&aggregate->quality_keys);
	intern_release(&aggregate->texts);
	pthread_mutex_destroy(&aggregate->lock);
	free(aggregate);
}

static void lock(struct aggregate *aggregate)
{
	pthread_mutex_lock(&aggregate->lock);
}

static void unlock(struct aggregate *aggregate)
{
	pthread_mutex_unlock(&aggregate->lock);
}

/* A copy that lives as long as the aggregate, so flushed rows may point to it without the lock. */
static const char *keep(struct aggregate *aggregate, const char *text)
{
	return text ? intern_text(&aggregate->texts, intern_add(&aggregate->texts, text)) : NULL;
}

/* Adds the row, or replaces the one that the map has under this key. */
static void *put_by_key(struct rows *rows, struct map *map, uint64_t key, const void *row)
{
	bool added;
	uint64_t *number = map_add(map, key, &added);

	if (added)
		*number = rows_add(rows, row);
	else
		memcpy(rows_edit(rows, *number), row, rows->size);
	return rows_edit(rows, *number);
}

uint32_t aggregate_module(struct aggregate *aggregate, const struct profile_module *module)
{
	lock(aggregate);

	uint32_t id = places_module(&aggregate->places, module);

	unlock(aggregate);
	return id;
}

uint32_t aggregate_nr_modules(struct aggregate *aggregate)
{
	uint32_t nr;

	lock(aggregate);
	nr = (uint32_t)aggregate->places.modules.nr;
	unlock(aggregate);
	return nr;
}

struct profile_module aggregate_module_at(struct aggregate *aggregate, uint32_t id)
{
	struct profile_module module;

	lock(aggregate);
	module = *(const struct profile_module *)rows_at(&aggregate->places.modules, id);
	unlock(aggregate);
	return module;
}

uint32_t aggregate_address(struct aggregate *aggregate, enum profile_address_kind kind,
			   uint32_t module, uint64_t value)
{
	lock(aggregate);

	uint32_t id = places_address(&aggregate->places, kind, module, value);

	unlock(aggregate);
	return id;
}

uint32_t aggregate_stack(struct aggregate *aggregate, uint32_t parent, uint32_t address)
{
	lock(aggregate);

	uint32_t id = places_stack(&aggregate->places, parent, address);

	unlock(aggregate);
	return id;
}

uint32_t aggregate_stack_of(struct aggregate *aggregate, const struct profile_address *frames,
			    size_t nr)
{
	struct fingerprint print = fingerprint_of(frames, nr);

	lock(aggregate);

	uint32_t id = places_stack_of(&aggregate->places, frames, nr, print);

	unlock(aggregate);
	return id;
}

/* As long as the row that has it. */
static const char *copy(struct aggregate *aggregate, const char *text)
{
	return arena_strdup(&aggregate->fresh.texts, text);
}

static const char *const *copy_list(struct aggregate *aggregate, const char *const *list, size_t nr)
{
	const char **texts = arena_alloc(&aggregate->fresh.texts, nr * sizeof(*texts));

	for (size_t i = 0; i < nr; i++)
		texts[i] = copy(aggregate, list[i]);
	return texts;
}

/* Gives the row an id if it has none yet. */
static uint32_t put_by_id(struct rows *rows, struct map *map, uint32_t *nr_ids, uint32_t *row_id,
			  const void *row)
{
	if (*row_id == PROFILE_NONE)
		*row_id = (*nr_ids)++;
	put_by_key(rows, map, *row_id, row);
	return *row_id;
}

/* Of a row that has not all of its arguments with it: if they were not passed on yet. */
static const char *const *fresh_arguments(const struct aggregate *aggregate, uint32_t process)
{
	const uint64_t *number = map_find(&aggregate->fresh_index.processes, process);
	const struct profile_process *row =
		number ? rows_at(&aggregate->fresh.processes, (uint32_t)*number) : NULL;

	return row ? row->arguments : NULL;
}

uint32_t aggregate_process(struct aggregate *aggregate, const struct profile_process *process)
{
	struct profile_process row = *process;

	lock(aggregate);
	row.executable = copy(aggregate, process->executable);
	row.arguments = process->arguments || !process->nr_arguments
				? copy_list(aggregate, process->arguments, process->nr_arguments)
				: fresh_arguments(aggregate, process->id);
	row.untracked_reason = copy(aggregate, process->untracked_reason);

	uint32_t id = put_by_id(&aggregate->fresh.processes, &aggregate->fresh_index.processes,
				&aggregate->nr_processes, &row.id, &row);

	unlock(aggregate);
	return id;
}

uint32_t aggregate_thread(struct aggregate *aggregate, const struct profile_thread *thread)
{
	struct profile_thread row = *thread;

	lock(aggregate);
	row.name = copy(aggregate, thread->name);

	uint32_t id = put_by_id(&aggregate->fresh.threads, &aggregate->fresh_index.threads,
				&aggregate->nr_threads, &row.id, &row);

	unlock(aggregate);
	return id;
}

/* Events bring their ids; a gap is filled with an event that nothing is known of. */
static void make_events(struct aggregate *aggregate, uint32_t id)
{
	while (aggregate->events.nr <= id) {
		struct profile_event row = { .id = aggregate->events.nr,
					     .status = PROFILE_NOT_COUNTED };

		row.name = row.unit = "";
		rows_add(&aggregate->events, &row);
	}
}

void aggregate_event(struct aggregate *aggregate, const struct profile_event *event)
{
	struct profile_event row = *event;

	lock(aggregate);
	row.name = keep(aggregate, event->name);
	row.unit = keep(aggregate, event->unit);
	row.substituted_for = keep(aggregate, event->substituted_for);
	row.reason = keep(aggregate, event->reason);
	make_events(aggregate, row.id);
	memcpy(rows_edit(&aggregate->events, row.id), &row, sizeof(row));
	unlock(aggregate);
}

void aggregate_sample(struct aggregate *aggregate, const struct profile_sample *sample)
{
	lock(aggregate);
	sampled_add(&aggregate->sampled, sample);
	unlock(aggregate);
}

void aggregate_heap(struct aggregate *aggregate, const struct profile_heap *heap)
{
	struct profile_heap row = *heap;

	lock(aggregate);
	row.allocator = keep(aggregate, heap->allocator);
	put_by_key(&aggregate->fresh.heaps, &aggregate->fresh_index.heaps, heap->process, &row);
	unlock(aggregate);
}

void aggregate_heap_site(struct aggregate *aggregate, const struct profile_heap_site *site)
{
	struct map *map = &aggregate->fresh_index.sites[site->allocator];
	struct rows *sites = &aggregate->fresh.heap_sites;
	uint64_t key = map_pair(site->process, site->stack), *number;
	struct profile_heap_site row = *site;

	copy_histogram(&row.sizes);
	copy_histogram(&row.lifetimes);
	lock(aggregate);
	number = map_find(map, key);
	if (number)
		free_histograms(rows_edit(sites, (uint32_t)*number));
	put_by_key(sites, map, key, &row);
	unlock(aggregate);
}

void aggregate_heap_size(struct aggregate *aggregate, const struct profile_heap_size *size)
{
	lock(aggregate);
	put_by_key(&aggregate->fresh.heap_sizes, &aggregate->fresh_index.heap_sizes,
		   map_pair(size->process, (uint32_t)__builtin_clzll(size->most_bytes | 1)), size);
	unlock(aggregate);
}

void aggregate_heap_thread(struct aggregate *aggregate, const struct profile_heap_thread *thread)
{
	lock(aggregate);
	put_by_key(&aggregate->fresh.heap_threads, &aggregate->fresh_index.heap_threads,
		   map_pair(thread->process, (uint32_t)thread->tid), thread);
	unlock(aggregate);
}

static struct map *handoffs_of(struct fresh_index *index, uint32_t process)
{
	bool added;
	uint64_t *number = map_add(&index->handoffs_of, process, &added);

	if (added)
		*number = index->heap_handoffs.nr;
	return maps_at(&index->heap_handoffs, *number);
}

void aggregate_heap_handoff(struct aggregate *aggregate, const struct profile_heap_handoff *handoff)
{
	lock(aggregate);
	put_by_key(&aggregate->fresh.heap_handoffs,
		   handoffs_of(&aggregate->fresh_index, handoff->process),
		   map_pair((uint32_t)handoff->from_tid, (uint32_t)handoff->to_tid), handoff);
	unlock(aggregate);
}

void aggregate_slices(struct aggregate *aggregate, uint32_t process,
		      const struct profile_slice *slices, size_t nr, bool whole)
{
	lock(aggregate);
	if (whole)
		vec_push(&aggregate->fresh.slices,
			 (struct slice_change){ true, { .process = process } });
	for (size_t i = 0; i < nr; i++) {
		struct slice_change change = { .row = slices[i] };

		change.row.process = process;
		vec_push(&aggregate->fresh.slices, change);
	}
	unlock(aggregate);
}

void aggregate_memory(struct aggregate *aggregate, uint32_t process,
		      const struct profile_memory *memory, size_t nr, bool whole)
{
	lock(aggregate);
	if (whole)
		vec_push(&aggregate->fresh.memory,
			 (struct memory_change){ true, { .process = process } });
	for (size_t i = 0; i < nr; i++) {
		struct memory_change change = { .row = memory[i] };

		change.row.process = process;
		vec_push(&aggregate->fresh.memory, change);
	}
	unlock(aggregate);
}

static uint32_t quality_number(struct aggregate *aggregate, enum profile_quality_kind kind,
			       const char *detail)
{
	char *key = xasprintf("%d\n%s", kind, detail);
	uint32_t number = intern_add(&aggregate->quality_keys, key);

	free(key);
	return number;
}

void aggregate_quality(struct aggregate *aggregate, enum profile_quality_kind kind,
		       const char *detail, uint64_t count)
{
	struct profile_quality row = { .kind = kind };

	lock(aggregate);
	row.detail = keep(aggregate, detail ? detail : "");

	uint32_t number = quality_number(aggregate, kind, row.detail);

	if (number == aggregate->quality.nr)
		rows_add(&aggregate->quality, &row);
	((struct profile_quality *)rows_edit(&aggregate->quality, number))->count += count;
	unlock(aggregate);
}

/* What one flush passes on. */
struct batch {
	struct fresh_places places;
	struct fresh_samples samples;
	struct fresh_rows fresh;
	struct rows modules, events, sample_sums, quality;
};

static struct batch take_batch(struct aggregate *aggregate)
{
	struct batch batch;

	lock(aggregate);
	batch = (struct batch){
		.places = aggregate->places.fresh,
		.samples = aggregate->sampled.fresh,
		.fresh = aggregate->fresh,
		.modules = rows_take(&aggregate->places.modules),
		.events = rows_take(&aggregate->events),
		.sample_sums = rows_take(&aggregate->sampled.sums),
		.quality = rows_take(&aggregate->quality),
	};
	aggregate->places.fresh = (struct fresh_places){ 0 };
	aggregate->sampled.fresh = (struct fresh_samples){ 0 };
	aggregate->fresh = no_rows();
	release_index(&aggregate->fresh_index);
	unlock(aggregate);
	return batch;
}

static void release_batch(struct batch *batch)
{
	fresh_places_release(&batch->places);
	fresh_samples_release(&batch->samples);
	release_fresh(&batch->fresh);
	rows_release(&batch->modules);
	rows_release(&batch->events);
	rows_release(&batch->sample_sums);
	rows_release(&batch->quality);
}

#define pass_on(rows, use)                           \
	for (uint32_t i_ = 0; i_ < (rows)->nr; i_++) \
	(use)(context, rows_at((rows), i_))

static void flush_places(const struct batch *batch, const struct aggregate_sink *sink,
			 void *context)
{
	pass_on(&batch->modules, sink->module);
	vec_each(&batch->places.addresses, address) sink->address(context, address);
	vec_each(&batch->places.stacks, stack) sink->stack(context, stack);
	pass_on(&batch->events, sink->event);
	pass_on(&batch->fresh.processes, sink->process);
	pass_on(&batch->fresh.threads, sink->thread);
}

static void flush_slice(const struct slice_change *change, const struct aggregate_sink *sink,
			void *context)
{
	if (change->clear)
		sink->clear_slices(context, change->row.process);
	else
		sink->slice(context, &change->row);
}

static void flush_memory(const struct memory_change *change, const struct aggregate_sink *sink,
			 void *context)
{
	if (change->clear)
		sink->clear_memory(context, change->row.process);
	else
		sink->memory(context, &change->row);
}

static void flush_figures(const struct batch *batch, const struct aggregate_sink *sink,
			  void *context)
{
	vec_each(&batch->samples.first, first) sink->first_sample(context, first);
	vec_each(&batch->samples.later, later) sink->later_sample(context, later);
	pass_on(&batch->sample_sums, sink->sample_sum);
	pass_on(&batch->fresh.heaps, sink->heap);
	pass_on(&batch->fresh.heap_sites, sink->heap_site);
	pass_on(&batch->fresh.heap_sizes, sink->heap_size);
	pass_on(&batch->fresh.heap_threads, sink->heap_thread);
	pass_on(&batch->fresh.heap_handoffs, sink->heap_handoff);
	vec_each(&batch->fresh.slices, slice) flush_slice(slice, sink, context);
	vec_each(&batch->fresh.memory, memory) flush_memory(memory, sink, context);
	pass_on(&batch->quality, sink->quality);
}

void aggregate_flush(struct aggregate *aggregate, const struct aggregate_sink *sink, void *context)
{
	struct batch batch = take_batch(aggregate);

	flush_places(&batch, sink, context);
	flush_figures(&batch, sink, context);
	release_batch(&batch);
}
