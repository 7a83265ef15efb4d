/* SPDX-License-Identifier: MIT */
#include "record/heap/image.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"
#include "record/heap/mode.h"
#include "record/heap/site_figures.h"
#include "record/heap/worth.h"

/* --- who it is --------------------------------------------------------------------------------*/

/* Arguments, each ended by \0, the last one maybe cut. */
static void copy_arguments(struct image *image, uint32_t at, uint32_t bytes)
{
	VEC(char *) arguments = { 0 };
	char *text = bytes <= WIRE_ARGV_BYTES ? segment_text(image->segment, at, bytes) : NULL;

	if (!text)
		return;
	image->arguments_text = text;
	for (uint32_t i = 0; i < bytes; i += (uint32_t)strlen(text + i) + 1)
		vec_push(&arguments, text + i);
	image->hello.nr_arguments = arguments.nr;
	vec_push(&arguments, NULL);
	image->arguments = arguments.at;
}

static void read_hello(struct image *image, const struct wire_segment *shared)
{
	image->executable = segment_text(image->segment, shared->exe_at, shared->exe_bytes);
	copy_arguments(image, shared->argv_at, shared->argv_bytes);
	image->hello.pid = image->segment->pid;
	image->hello.parent_pid = shared->ppid;
	image->hello.is_forked = image->segment->is_forked;
	image->hello.time_ns = shared->start_ns;
	image->hello.executable = image->executable;
	image->hello.arguments = image->arguments;
}

/* It may be off when we look for the first time. */
static bool was_live(const struct wire_segment *shared)
{
	uint32_t state = atomic_load(&shared->state);

	return state == WIRE_STATE_LIVE || (state == WIRE_STATE_OFF && shared->was_live);
}

static bool is_glibc(const char *library)
{
	return !strcmp(library, "libc.so.6") || !strncmp(library, "libc-2.", 7);
}

/* Whose malloc the shim passes calls on to. */
static void read_allocator(struct image *image, const struct segment *segment)
{
	struct wire_module wire;
	char *path = NULL;

	if (segment_module(segment, segment->shared->allocator, &wire))
		path = segment_text(segment, wire.path_at, wire.path_bytes);
	if (!path)
		return;
	image->allocator = xstrdup(path_name(path));
	image->slack_known = is_glibc(image->allocator);
	if (image->slack_known)
		heap_model_glibc(image->model, image->id, (uint64_t)sysconf(_SC_PAGESIZE));
	free(path);
}

struct image *image_new(struct heap_model *model, struct segment *segment)
{
	struct image *image = xcalloc(1, sizeof(*image));

	image->model = model;
	image->segment = segment;
	image->id = heap_model_image(model);
	image->start_sequence = segment->start_sequence;
	image->process = PROFILE_NONE;
	image->mode = WIRE_MODE_EXACT;
	image->changed = true;
	image->was_tracked = was_live(segment->shared);
	read_hello(image, segment->shared);
	read_allocator(image, segment);
	return image;
}

/* By which events find theirs. */
static void release_sites(struct image *image)
{
	map_release(&image->site_of);
	map_release(&image->sized_of);
	free(image->leaves);
	image->leaves = NULL;
	image->nr_leaves = 0;
}

void image_free(struct image *image)
{
	if (!image)
		return;
	frames_image_release(&image->frames);
	release_sites(image);
	map_release(&image->row_of);
	vec_free(&image->sites);
	vec_free(&image->rows);
	vec_free(&image->threads);
	vec_free(&image->handoffs);
	free(image->executable);
	free(image->allocator);
	free(image->arguments_text);
	free(image->arguments);
	free(image);
}

/* --- sites ------------------------------------------------------------------------------------*/

static enum profile_allocator allocator_of(unsigned int function)
{
	static const enum profile_allocator allocators[WIRE_NR_FUNCTIONS] = {
		[WIRE_FN_MALLOC] = PROFILE_MALLOC,
		[WIRE_FN_CALLOC] = PROFILE_CALLOC,
		[WIRE_FN_REALLOC] = PROFILE_REALLOC,
		[WIRE_FN_REALLOCARRAY] = PROFILE_REALLOCARRAY,
		[WIRE_FN_POSIX_MEMALIGN] = PROFILE_POSIX_MEMALIGN,
		[WIRE_FN_ALIGNED_ALLOC] = PROFILE_ALIGNED_ALLOC,
		[WIRE_FN_MEMALIGN] = PROFILE_MEMALIGN,
		[WIRE_FN_VALLOC] = PROFILE_VALLOC,
		[WIRE_FN_PVALLOC] = PROFILE_PVALLOC,
		[WIRE_FN_NEW] = PROFILE_NEW,
		[WIRE_FN_NEW_ARRAY] = PROFILE_NEW_ARRAY,
	};

	return function < WIRE_NR_FUNCTIONS ? allocators[function] : PROFILE_MALLOC;
}

static uint32_t new_site(struct image *image, uint32_t node, unsigned int function)
{
	uint32_t site = heap_model_site(image->model, image->id);

	vec_push(&image->sites, (struct image_site){ .model = site,
						     .node = node,
						     .allocator = allocator_of(function) });
	return site;
}

#define LEAVES_MIN 256
#define SIZE_BITS 36 /* more than worth_size_limit() needs */

static uint32_t sized_site(struct image *image, uint32_t node, unsigned int function,
			   uint64_t number, uint64_t size)
{
	uint64_t limit = worth_size_limit(image->sample_bytes);
	uint64_t key = number << SIZE_BITS | (size < limit ? size : limit);
	bool added;
	uint64_t *site = map_add(&image->sized_of, key, &added);

	if (added) {
		*site = new_site(image, node, function);
		heap_model_weigh(image->model, (uint32_t)*site,
				 worth_weight(size < limit ? size : limit, image->sample_bytes));
	}
	return (uint32_t)*site;
}

static uint64_t site_key(uint32_t node, unsigned int function)
{
	return (uint64_t)node << 8 | (function & 0xff);
}

static void grow_leaves(struct image *image, uint32_t node)
{
	uint32_t nr = image->nr_leaves ? image->nr_leaves : LEAVES_MIN;

	while (nr <= node)
		nr *= 2;
	image->leaves = xreallocarray(image->leaves, nr, sizeof(*image->leaves));
	memset(image->leaves + image->nr_leaves, 0,
	       (nr - image->nr_leaves) * sizeof(*image->leaves));
	image->nr_leaves = nr;
}

/* The place for the node, if nobody has it. */
static struct image_leaf *free_leaf(struct image *image, uint32_t node)
{
	if (node >= WIRE_NODES)
		return NULL;
	if (node >= image->nr_leaves)
		grow_leaves(image, node);
	return image->leaves[node].function ? NULL : &image->leaves[node];
}

/* Where blocks of all sizes have one. */
static uint32_t plain_site(struct image *image, uint32_t node, unsigned int function)
{
	struct image_leaf *leaf = free_leaf(image, node);
	bool added = true;
	uint64_t *site = leaf ? NULL : map_add(&image->site_of, site_key(node, function), &added);
	uint32_t id = added ? new_site(image, node, function) : (uint32_t)*site;

	if (leaf)
		*leaf = (struct image_leaf){ id, function + 1 };
	else
		*site = id;
	return id;
}

uint32_t image_site_further(struct image *image, uint32_t node, unsigned int function,
			    uint64_t size)
{
	bool added;
	uint64_t *number;

	if (image->mode != WIRE_MODE_SAMPLE)
		return plain_site(image, node, function);
	number = map_add(&image->site_of, site_key(node, function), &added);
	if (added)
		*number = image->site_of.nr;
	return sized_site(image, node, function, *number, size);
}

static struct image_row *row_of(struct image *image, uint32_t stack,
				enum profile_allocator allocator)
{
	bool added;
	uint64_t *row = map_add(&image->row_of, (uint64_t)stack << 8 | allocator, &added);

	if (added) {
		*row = image->rows.nr;
		vec_push(&image->rows,
			 (struct image_row){ .stack = stack, .allocator = allocator });
	}
	return &image->rows.at[*row];
}

static void resolve(struct image *image, struct frames *frames, uint32_t id)
{
	struct image_site *site = &image->sites.at[id];
	uint32_t stack =
		frames_stack(frames, &image->frames, image->segment, site->node, &site->truncated);
	struct image_row *row = row_of(image, stack, site->allocator);

	site->older = row->newest;
	row->newest = id + 1;
}

bool image_resolve(struct image *image, struct frames *frames, size_t nr)
{
	for (; nr && image->segment && image->nr_resolved < image->sites.nr; nr--)
		resolve(image, frames, (uint32_t)image->nr_resolved++);
	return image->segment && image->nr_resolved < image->sites.nr;
}

/* --- figures ----------------------------------------------------------------------------------*/

static uint64_t relaxed(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static uint64_t counted_operations(const struct image *image)
{
	return image->counted_allocations + image->counted_reallocations + image->counted_frees;
}

static void add_apart(struct image *image, const struct wire_counts *apart)
{
	image->counted_allocations += relaxed(&apart->allocations);
	image->counted_reallocations += relaxed(&apart->reallocations);
	image->counted_frees += relaxed(&apart->frees);
	image->counted_bytes += relaxed(&apart->allocated_bytes);
	image->lost += relaxed(&apart->lost);
}

void image_read_counters(struct image *image)
{
	uint64_t lost = image->lost, before = counted_operations(image);

	if (!image->segment || image->end_ns)
		return;
	image->counted_allocations = image->counted_reallocations = 0;
	image->counted_frees = image->counted_bytes = 0;
	image->lost = image->stalled_ns = 0;
	image->missed = relaxed(&image->segment->shared->missed);
	image->shim_bytes = segment_shim_bytes(image->segment);
	vec_each(&image->segment->rings, ring)
	{
		const struct wire_ring *shared = (*ring)->shared;

		image->counted_allocations += relaxed(&shared->allocations);
		image->counted_reallocations += relaxed(&shared->reallocations);
		image->counted_frees += relaxed(&shared->frees);
		image->counted_bytes += relaxed(&shared->allocated_bytes);
		image->lost += relaxed(&shared->lost) + (*ring)->damaged;
		image->stalled_ns += relaxed(&shared->stalled_ns);
	}
	add_apart(image, &image->segment->shared->apart);
	image->changed |= counted_operations(image) != before;
	if (image->lost > lost)
		heap_model_lost(image->model, image->id, image->lost - lost);
}

void image_figures(const struct image *image, struct profile_heap *figures)
{
	heap_model_figures(image->model, image->id, figures);
	figures->process = image->process;
	figures->allocator = image->allocator;
	figures->slack_known = image->slack_known;
	figures->stall_us = image->stalled_ns / 1000;
	figures->counted_allocations = image->counted_allocations;
	figures->counted_reallocations = image->counted_reallocations;
	figures->counted_frees = image->counted_frees;
	figures->counted_bytes = image->counted_bytes;
	mode_adjust(image->mode, figures);
	if (image->is_cut)
		figures->peak_most_bytes = PROFILE_UNKNOWN;
}

static struct profile_heap_site row_figures(const struct image *image, const struct image_row *row)
{
	struct profile_heap_site sum = { .process = image->process,
					 .stack = row->stack,
					 .allocator = row->allocator };
	struct profile_heap_site figures;

	for (uint32_t id = row->newest; id; id = image->sites.at[id - 1].older) {
		heap_model_site_figures(image->model, image->sites.at[id - 1].model, &figures);
		site_figures_add(&sum, &figures);
	}
	return sum;
}

/* Of the sums by class; bound_of a class is its bound. */
static struct profile_histogram pack(const struct image *image, struct profile_class *classes,
				     const uint64_t *sums, size_t nr,
				     uint64_t (*bound_of)(unsigned int class))
{
	struct profile_histogram histogram = { .at = classes };

	for (unsigned int i = 0; i < nr; i++) {
		uint64_t blocks = image->mode == WIRE_MODE_SAMPLE ? worth_blocks(sums[i]) : sums[i];

		if (blocks)
			classes[histogram.nr++] = (struct profile_class){ bound_of(i), blocks };
	}
	return histogram;
}

static void push_row(const struct image *image, const struct image_row *row,
		     struct profile_heap_site *figures, struct aggregate *aggregate)
{
	uint64_t sizes[SIZE_CLASSES] = { 0 }, lifetimes[LIFETIME_CLASSES] = { 0 };
	struct profile_class size_classes[SIZE_CLASSES], lifetime_classes[LIFETIME_CLASSES];

	for (uint32_t id = row->newest; id; id = image->sites.at[id - 1].older)
		heap_model_site_histograms(image->model, image->sites.at[id - 1].model, sizes,
					   lifetimes);
	figures->sizes = pack(image, size_classes, sizes, SIZE_CLASSES, size_class_most);
	figures->lifetimes =
		pack(image, lifetime_classes, lifetimes, LIFETIME_CLASSES, lifetime_class_below_us);
	if (image->mode == WIRE_MODE_SAMPLE)
		site_figures_round(figures);
	aggregate_heap_site(aggregate, figures);
}

static void push_rows(struct image *image, struct aggregate *aggregate)
{
	vec_each(&image->rows, row)
	{
		struct profile_heap_site figures = row_figures(image, row);
		uint64_t sum = site_figures_checksum(&figures);

		if (sum != row->pushed)
			push_row(image, row, &figures, aggregate);
		row->pushed = sum;
	}
}

static void push_sizes(struct image *image, struct aggregate *aggregate)
{
	struct histogram_sum sizes[SIZE_CLASSES];

	heap_model_sizes(image->model, image->id, sizes);
	for (unsigned int i = 0; i < SIZE_CLASSES; i++) {
		struct profile_heap_size row = { image->process, size_class_most(i),
						 sizes[i].blocks, sizes[i].bytes,
						 sizes[i].slack_bytes };

		if (row.blocks != image->pushed_sizes[i])
			aggregate_heap_size(aggregate, &row);
		image->pushed_sizes[i] = row.blocks;
	}
}

static void push_threads(struct image *image, struct aggregate *aggregate)
{
	struct profile_heap_thread figures;

	for (size_t i = 0; i < heap_model_nr_threads(image->model, image->id); i++) {
		heap_model_thread_figures(image->model, image->id, i, &figures);

		uint64_t operations = figures.allocations + figures.frees + figures.reallocations;

		if (i == image->threads.nr)
			vec_push(&image->threads, 0);
		if (figures.tid < 0 || operations == image->threads.at[i])
			continue;
		image->threads.at[i] = operations;
		figures.process = image->process;
		aggregate_heap_thread(aggregate, &figures);
	}
}

static void push_handoffs(struct image *image, struct aggregate *aggregate)
{
	for (size_t i = 0; i < heap_model_nr_handoffs(image->model, image->id); i++) {
		struct profile_heap_handoff handoff =
			heap_model_handoff(image->model, image->id, i);

		if (i == image->handoffs.nr)
			vec_push(&image->handoffs, 0);
		if (handoff.frees == image->handoffs.at[i])
			continue;
		image->handoffs.at[i] = handoff.frees;
		handoff.process = image->process;
		aggregate_heap_handoff(aggregate, &handoff);
	}
}

static void push_timeline(const struct image *image, struct aggregate *aggregate)
{
	struct timeline_slices slices = heap_model_timeline(image->model, image->id);

	aggregate_slices(aggregate, image->process, slices.at, slices.nr, slices.whole);
}

void image_push(struct image *image, struct aggregate *aggregate, bool peak_moved)
{
	struct profile_heap figures;

	if (image->process == PROFILE_NONE || !image->was_tracked ||
	    (!image->changed && !peak_moved))
		return;
	if (image->changed) {
		image_figures(image, &figures);
		aggregate_heap(aggregate, &figures);
		push_timeline(image, aggregate);
		push_sizes(image, aggregate);
		push_threads(image, aggregate);
		push_handoffs(image, aggregate);
	}
	push_rows(image, aggregate);
	image->changed = false;
}

/* --- ends ------------------------------------------------------------------------------------*/

void image_note_off(struct image *image, const struct ticks *ticks, uint64_t start_ns)
{
	const struct wire_segment *shared = image->segment ? image->segment->shared : NULL;
	uint64_t off_ns;

	if (!shared || image->off_reason || atomic_load(&shared->state) != WIRE_STATE_OFF)
		return;
	off_ns = ticks_ns(ticks, shared->off_clock);
	image->off_reason = shared->reason;
	image->off_ns = off_ns > start_ns ? off_ns - start_ns : 0;
	image->is_cut = image->was_tracked && !shared->counts_on;
	if (image->is_cut)
		heap_model_lost(image->model, image->id, 1);
	image->changed = true;
}

void image_end(struct image *image, uint64_t time_ns)
{
	image_read_counters(image);
	heap_model_end(image->model, image->id, time_ns);
	release_sites(image);
	image->changed = true;
}

void image_leave_segment(struct image *image)
{
	frames_image_release(&image->frames);
	image->segment = NULL;
}
