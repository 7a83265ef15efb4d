/* SPDX-License-Identifier: MIT */
#include "record/heap/model.h"

#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/heap/blocks.h"
#include "record/heap/peak.h"
#include "record/heap/site.h"
#include "record/heap/slack.h"
#include "record/heap/worth.h"
#include "store/classes.h"

#define PREFETCH_AHEAD 16
/* What each event goes through: a call is a tenth of it. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

struct thread {
	int32_t tid;
	uint32_t last_alloc; /* if that was its last operation; or 0 */
	uint64_t allocations, frees, reallocations;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t temporary;
};

struct image {
	struct blocks blocks;
	struct peak peak;
	struct timeline timeline;
	struct map thread_of; /* tid to index of threads */
	VEC(struct thread) threads;
	VEC(uint32_t) lanes;
	uint32_t newest_site; /* + 1 */
	uint32_t operation;   /* the last one's number */
	uint64_t allocations, frees, reallocations;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t temporary;
	uint64_t churn_bytes[LIFETIME_CLASSES], churn_blocks[LIFETIME_CLASSES];
	struct heap_size_class sizes[SIZE_CLASSES];
	uint64_t unknown_frees, duplicates, late, lost;
	bool forked;
	struct heritage *heritage; /* NULL: none, or not known */
	uint64_t inherited_bytes, inherited_frees;
	bool ended;
	uint64_t glibc_page; /* see slack.h */
};

struct lane {
	uint32_t image, thread;
	bool in_realloc;
	uint64_t inherited; /* in the hands of realloc: a block of the parent's; 0: none */
	struct block block; /* in the hands of realloc; address 0: an unknown one */
};

struct heap_model {
	VEC(struct image *) images;
	struct sites sites;
	VEC(struct lane) lanes;
	VEC(uint32_t) free_lanes, free_images;
	struct profile_heap retired; /* sums over the images that are forgotten */
	struct peak tree;
	struct timeline timeline; /* of the tree */
	uint64_t allocations, allocated_bytes;
	bool is_sample;
	VEC(uint64_t) weights; /* of a sample, by site */
};

struct heap_model *heap_model_new(void)
{
	struct heap_model *model = xcalloc(1, sizeof(*model));

	model->retired.peak_exact = true;
	return model;
}

static void image_release(struct image *image)
{
	blocks_release(&image->blocks);
	map_release(&image->thread_of);
	vec_free(&image->lanes);
	heritage_free(image->heritage);
	image->heritage = NULL;
}

static void image_free(struct image *image)
{
	if (!image)
		return;
	image_release(image);
	vec_free(&image->threads);
	timeline_release(&image->timeline);
	free(image);
}

void heap_model_free(struct heap_model *model)
{
	if (!model)
		return;
	vec_each(&model->images, image) image_free(*image);
	vec_free(&model->images);
	sites_release(&model->sites);
	vec_free(&model->weights);
	vec_free(&model->lanes);
	vec_free(&model->free_lanes);
	vec_free(&model->free_images);
	timeline_release(&model->timeline);
	free(model);
}

uint32_t heap_model_image(struct heap_model *model)
{
	struct image *image = xcalloc(1, sizeof(*image));
	uint32_t id = (uint32_t)model->images.nr;

	if (model->free_images.nr) {
		id = model->free_images.at[--model->free_images.nr];
		model->images.at[id] = image;
	} else {
		vec_push(&model->images, image);
	}
	return id;
}

void heap_model_glibc(struct heap_model *model, uint32_t image, uint64_t page_bytes)
{
	model->images.at[image]->glibc_page = page_bytes;
}

struct heritage *heap_model_fork(struct heap_model *model, uint32_t id)
{
	struct image *image = model->images.at[id];

	return heritage_new(&image->blocks, image->peak.bytes, image->heritage);
}

void heap_model_inherit(struct heap_model *model, uint32_t id, struct heritage *heritage)
{
	struct image *image = model->images.at[id];

	heritage_free(image->heritage);
	image->forked = true;
	image->heritage = heritage;
	image->inherited_bytes = heritage ? heritage_bytes(heritage) : 0;
}

uint32_t heap_model_lane(struct heap_model *model, uint32_t image)
{
	uint32_t lane;

	if (model->free_lanes.nr)
		lane = model->free_lanes.at[--model->free_lanes.nr];
	else {
		lane = (uint32_t)model->lanes.nr;
		vec_add(&model->lanes);
	}
	model->lanes.at[lane] = (struct lane){ .image = image };
	vec_push(&model->images.at[image]->lanes, lane);
	heap_model_thread(model, lane, -(int32_t)lane - 1, true); /* until we hear whose it is */
	return lane;
}

void heap_model_thread(struct heap_model *model, uint32_t lane, int32_t tid, bool fresh)
{
	struct image *image = model->images.at[model->lanes.at[lane].image];
	bool added;
	uint64_t *thread = map_add(&image->thread_of, (uint64_t)tid, &added);

	if (added) {
		*thread = image->threads.nr;
		vec_push(&image->threads, (struct thread){ .tid = tid });
	}
	if (fresh)
		image->threads.at[*thread].last_alloc = 0;
	model->lanes.at[lane].thread = (uint32_t)*thread;
}

uint32_t heap_model_site(struct heap_model *model, uint32_t id)
{
	struct image *image = model->images.at[id];
	uint32_t site = sites_add(&model->sites, id, image->newest_site);

	image->newest_site = site + 1;
	return site;
}

static struct thread *thread_of(struct image *image, const struct lane *lane)
{
	return &image->threads.at[lane->thread];
}

void heap_model_is_sample(struct heap_model *model)
{
	model->is_sample = true;
}

void heap_model_weigh(struct heap_model *model, uint32_t site, uint64_t weight)
{
	while (model->weights.nr <= site)
		vec_push(&model->weights, 0);
	model->weights.at[site] = weight;
}

/* --- events -----------------------------------------------------------------------------------*/

/* What a block of the site counts. */
static inline struct worth worth(const struct heap_model *model, uint32_t site, uint64_t size)
{
	if (__builtin_expect(model->is_sample, 0))
		return worth_of(model->weights.at[site], size);
	return (struct worth){ size, 1 };
}

/* Sums of that as numbers. */
static inline uint64_t to_blocks(const struct heap_model *model, uint64_t sum)
{
	return __builtin_expect(model->is_sample, 0) ? worth_blocks(sum) : sum;
}

static inline uint64_t to_bytes(const struct heap_model *model, uint64_t sum)
{
	return __builtin_expect(model->is_sample, 0) ? worth_bytes(sum) : sum;
}

static struct timeline_now image_now(const struct heap_model *model, const struct image *image)
{
	return (struct timeline_now){ to_bytes(model, image->peak.bytes),
				      to_blocks(model, image->allocations),
				      to_bytes(model, image->allocated_bytes) };
}

static struct timeline_now tree_now(const struct heap_model *model)
{
	return (struct timeline_now){ to_bytes(model, model->tree.bytes),
				      to_blocks(model, model->allocations),
				      to_bytes(model, model->allocated_bytes) };
}

/* Seldom: when a slice is over. */
__attribute__((noinline)) static void turn(struct heap_model *model, struct image *image,
					   uint64_t time_ns)
{
	struct timeline_now in_image = image_now(model, image), in_tree = tree_now(model);

	if (time_ns >= image->timeline.end_ns)
		timeline_turn(&image->timeline, &in_image, time_ns);
	if (time_ns >= model->timeline.end_ns)
		timeline_turn(&model->timeline, &in_tree, time_ns);
}

/* Before what was allocated is counted. */
static ALWAYS_INLINE void sums_change(struct heap_model *model, struct image *image, int64_t bytes,
				      int64_t blocks, uint64_t time_ns)
{
	if (time_ns >= image->timeline.end_ns || time_ns >= model->timeline.end_ns)
		turn(model, image, time_ns);
	peak_change(&image->peak, bytes, blocks, time_ns);
	peak_change(&model->tree, bytes, blocks, time_ns);
	timeline_note(&image->timeline, to_bytes(model, image->peak.bytes));
	timeline_note(&model->timeline, to_bytes(model, model->tree.bytes));
}

static inline void note_size(const struct heap_model *model, struct image *image,
			     const struct block *block, uint64_t slack)
{
	struct heap_size_class *class = &image->sizes[size_class(block->size)];
	struct worth worth_is = worth(model, block->site, block->size);

	class->blocks += worth_is.blocks;
	class->bytes += worth_is.bytes;
	class->slack_bytes += worth(model, block->site, slack).bytes;
}

/* After sums_change(). */
static ALWAYS_INLINE void site_gets(struct heap_model *model, struct image *image,
				    const struct block *block)
{
	uint64_t slack = slack_of(image->glibc_page, block->address, block->size);

	site_keep(&model->sites, block->site, &image->peak, &model->tree);
	site_get(&model->sites.at[block->site], block->size, slack);
	note_size(model, image, block, slack);
}

/* After sums_change(). */
static ALWAYS_INLINE void site_gives(struct heap_model *model, const struct image *image,
				     const struct block *block)
{
	site_keep(&model->sites, block->site, &image->peak, &model->tree);
	site_give(&model->sites.at[block->site], block->size,
		  slack_of(image->glibc_page, block->address, block->size));
}

static uint64_t age(const struct block *block, uint64_t time_ns)
{
	return time_ns > block->born_ns ? time_ns - block->born_ns : 0;
}

/* Returns its class of lifetimes. */
static ALWAYS_INLINE unsigned int take_away(struct heap_model *model, struct image *image,
					    const struct block *block, uint64_t time_ns)
{
	struct worth worth_is = worth(model, block->site, block->size);
	unsigned int class = lifetime_class(age(block, time_ns));

	sums_change(model, image, -(int64_t)worth_is.bytes, -(int64_t)worth_is.blocks, time_ns);
	site_gives(model, image, block);
	model->sites.at[block->site].freed_bytes += block->size;
	image->freed_bytes += worth_is.bytes;
	image->churn_bytes[class] += worth_is.bytes;
	return class;
}

static ALWAYS_INLINE void give_back(struct heap_model *model, struct image *image,
				    const struct block *block, uint64_t time_ns)
{
	uint64_t blocks = worth(model, block->site, block->size).blocks;
	struct site *site = &model->sites.at[block->site];
	unsigned int class = take_away(model, image, block, time_ns);

	site->lifetimes[class]++;
	site->lifetime_ns += age(block, time_ns);
	image->frees += blocks;
	image->churn_blocks[class] += blocks;
}

/* Puts the block into the table.  Was one there, then its free never reached us. */
static ALWAYS_INLINE void place(struct heap_model *model, struct image *image,
				const struct block *block, uint64_t time_ns)
{
	bool added;
	struct block *slot = blocks_add(&image->blocks, block->address, &added);

	if (!added) {
		image->duplicates++;
		give_back(model, image, slot, time_ns);
	}
	*slot = *block;
}

/* operation: 0 if that is none by which a block can be temporary. */
static inline void bring(struct heap_model *model, struct image *image, struct thread *thread,
			 const struct heap_event *event, uint32_t operation)
{
	struct worth worth_is = worth(model, event->site, event->size);
	struct block block = {
		.address = event->address,
		.size = event->size,
		.born_ns = event->time_ns,
		.site = event->site,
		.operation = operation,
	};

	place(model, image, &block, event->time_ns);
	sums_change(model, image, (int64_t)worth_is.bytes, (int64_t)worth_is.blocks,
		    event->time_ns);
	site_gets(model, image, &block);
	image->allocated_bytes += worth_is.bytes;
	model->allocated_bytes += worth_is.bytes;
	thread->allocated_bytes += worth_is.bytes;
	thread->last_alloc = operation;
}

static void allocate(struct heap_model *model, struct image *image, struct thread *thread,
		     const struct heap_event *event)
{
	uint64_t blocks = worth(model, event->site, event->size).blocks;

	/* Never 0, which is none. */
	image->operation += 1 + (image->operation == UINT32_MAX);
	bring(model, image, thread, event, image->operation);
	image->allocations += blocks;
	model->allocations += blocks;
	thread->allocations += blocks;
}

/* The last operation of this thread was the allocation of this very block. */
static bool is_temporary(const struct thread *thread, const struct block *block)
{
	return block->operation && thread->last_alloc == block->operation;
}

/* The forked child frees what is not its own.  It may be none that we knew: a thread of the parent
 * was just about to tell. */
static void free_inherited(struct heap_model *model, struct image *image, uint64_t address)
{
	struct block block;

	if (image->heritage && heritage_take(image->heritage, address, &block)) {
		struct worth worth_is = worth(model, block.site, block.size);

		heritage_lose(image->heritage, worth_is.bytes);
		image->inherited_frees += worth_is.blocks;
	} else if (!model->is_sample) {
		image->inherited_frees++;
	}
}

static inline void end_block(struct heap_model *model, struct image *image, struct thread *thread,
			     const struct block *block, uint64_t time_ns)
{
	if (!block->address) {
		image->unknown_frees++;
	} else {
		struct worth worth_is = worth(model, block->site, block->size);

		if (is_temporary(thread, block)) {
			model->sites.at[block->site].temporary++;
			image->temporary += worth_is.blocks;
			thread->temporary += worth_is.blocks;
		}
		give_back(model, image, block, time_ns);
		thread->frees += worth_is.blocks;
		thread->freed_bytes += worth_is.bytes;
	}
	thread->last_alloc = 0;
}

static inline void release(struct heap_model *model, struct image *image, struct thread *thread,
			   const struct heap_event *event)
{
	struct block block = { 0 };
	bool is_own = blocks_take(&image->blocks, event->address, &block);

	if (is_own || !image->forked) {
		end_block(model, image, thread, &block, event->time_ns);
		return;
	}
	free_inherited(model, image, event->address);
	thread->last_alloc = 0;
}

static void realloc_failed(struct heap_model *model, struct image *image, struct lane *lane,
			   uint64_t time_ns)
{
	if (lane->block.address)
		place(model, image, &lane->block, time_ns);
}

static void realloc_begin(struct heap_model *model, struct image *image, struct lane *lane,
			  const struct heap_event *event)
{
	if (lane->in_realloc)
		realloc_failed(model, image, lane, event->time_ns);
	lane->in_realloc = true;
	lane->inherited = 0;
	if (blocks_take(&image->blocks, event->address, &lane->block))
		return;
	lane->block.address = 0;
	if (image->forked)
		lane->inherited = event->address;
}

/* Pages of its own are mapped elsewhere, not copied. */
static void note_move(const struct image *image, struct site_past *site, const struct block *from,
		      const struct block *to)
{
	if (from->address == to->address)
		return;
	site->moved++;
	if (!image->glibc_page || !slack_is_mapped(image->glibc_page, from->address, from->size) ||
	    !slack_is_mapped(image->glibc_page, to->address, to->size))
		site->copied_bytes += from->size < to->size ? from->size : to->size;
}

static void reallocate(struct heap_model *model, struct image *image, struct thread *thread,
		       const struct block *old, const struct heap_event *event)
{
	struct block block = *old;
	uint64_t time_ns = event->time_ns;

	block.address = event->address;
	block.size = event->size;
	block.site = event->site;
	block.operation = 0;
	place(model, image, &block, time_ns);

	sums_change(model, image, (int64_t)(block.size - old->size), 0, time_ns);
	site_gives(model, image, old);
	site_gets(model, image, &block);
	model->sites.at[block.site].freed_bytes += old->size;
	model->sites.past[block.site].reallocations++;
	note_move(image, &model->sites.past[block.site], old, &block);
	image->reallocations++;
	image->allocated_bytes += block.size;
	model->allocated_bytes += block.size;
	image->freed_bytes += old->size;
	image->churn_bytes[lifetime_class(age(old, time_ns))] += old->size;
	thread->reallocations++;
	thread->allocated_bytes += block.size;
	thread->freed_bytes += old->size;
}

/* What was allocated before we listened becomes known when it is reallocated. */
static void realloc_done(struct heap_model *model, struct image *image, struct lane *lane,
			 const struct heap_event *event)
{
	struct thread *thread = thread_of(image, lane);

	if (lane->in_realloc && lane->block.address) {
		reallocate(model, image, thread, &lane->block, event);
	} else {
		if (lane->in_realloc && lane->inherited)
			free_inherited(model, image, lane->inherited);
		else
			image->unknown_frees++;
		allocate(model, image, thread, event);
	}
	thread->last_alloc = 0;
}

/* The other half of a reallocation is not of the sample, or comes apart. */
static void realloc_left(struct heap_model *model, struct image *image, struct lane *lane,
			 uint64_t time_ns)
{
	struct thread *thread = thread_of(image, lane);
	const struct block *block = &lane->block;

	if (lane->in_realloc && lane->inherited)
		free_inherited(model, image, lane->inherited);
	else if (lane->in_realloc && block->address) {
		take_away(model, image, block, time_ns);
		thread->freed_bytes += worth(model, block->site, block->size).bytes;
	}
	thread->last_alloc = 0;
	lane->in_realloc = false;
}

static void realloc_came(struct heap_model *model, struct image *image, struct thread *thread,
			 const struct heap_event *event)
{
	uint64_t blocks = worth(model, event->site, event->size).blocks;

	bring(model, image, thread, event, 0);
	model->sites.past[event->site].reallocations++;
	image->reallocations += blocks;
	thread->reallocations += blocks;
}

static void realloc_end(struct heap_model *model, struct image *image, struct lane *lane,
			const struct heap_event *event)
{
	if (event->op == HEAP_REALLOC_DONE)
		realloc_done(model, image, lane, event);
	else if (lane->in_realloc && lane->inherited && event->op == HEAP_REALLOC_FREED)
		free_inherited(model, image, lane->inherited);
	else if (lane->in_realloc && event->op == HEAP_REALLOC_FREED)
		end_block(model, image, thread_of(image, lane), &lane->block, event->time_ns);
	else if (lane->in_realloc)
		realloc_failed(model, image, lane, event->time_ns);
	lane->in_realloc = false;
}

static void apply(struct heap_model *model, const struct heap_event *event)
{
	struct lane *lane = &model->lanes.at[event->lane];
	struct image *image = model->images.at[lane->image];

	switch ((enum heap_op)event->op) {
	case HEAP_ALLOC:
		allocate(model, image, thread_of(image, lane), event);
		break;
	case HEAP_FREE:
		release(model, image, thread_of(image, lane), event);
		break;
	case HEAP_REALLOC_BEGIN:
		realloc_begin(model, image, lane, event);
		break;
	case HEAP_REALLOC_DONE:
	case HEAP_REALLOC_FAILED:
	case HEAP_REALLOC_FREED:
		realloc_end(model, image, lane, event);
		break;
	case HEAP_REALLOC_LEFT:
		realloc_left(model, image, lane, event->time_ns);
		break;
	case HEAP_REALLOC_CAME:
		realloc_came(model, image, thread_of(image, lane), event);
		break;
	case HEAP_OTHERS:
		thread_of(image, lane)->last_alloc = 0;
		break;
	}
}

__attribute__((always_inline)) static inline void prefetch(struct heap_model *model,
							   const struct heap_event *event)
{
	const struct lane *lane = &model->lanes.at[event->lane];

	blocks_prefetch(&model->images.at[lane->image]->blocks, event->address);
	__builtin_prefetch(&model->sites.at[event->site], 1);
}

void heap_model_apply(struct heap_model *model, const struct heap_event *events, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (i + PREFETCH_AHEAD < nr)
			prefetch(model, &events[i + PREFETCH_AHEAD]);
		apply(model, &events[i]);
	}
}

static void leave_tree(struct heap_model *model, struct image *image, uint64_t time_ns)
{
	turn(model, image, time_ns);
	peak_change(&model->tree, -(int64_t)image->peak.bytes, -(int64_t)image->peak.blocks,
		    time_ns);
	for (uint32_t id = image->newest_site; id; id = model->sites.at[id - 1].older)
		site_keep(&model->sites, id - 1, &image->peak, &model->tree);
}

void heap_model_end(struct heap_model *model, uint32_t id, uint64_t time_ns)
{
	struct image *image = model->images.at[id];

	leave_tree(model, image, time_ns);
	vec_each(&image->lanes, lane) vec_push(&model->free_lanes, *lane);
	image_release(image);
	image->ended = true;
}

void heap_model_late(struct heap_model *model, uint32_t image, uint64_t nr)
{
	model->images.at[image]->late += nr;
}

void heap_model_lost(struct heap_model *model, uint32_t image, uint64_t nr)
{
	model->images.at[image]->lost += nr;
}

/* --- figures ----------------------------------------------------------------------------------*/

/* Whose bound is that of a class of churn, or below. */
static size_t churn_class(unsigned int lifetime)
{
	static const uint64_t below_us[PROFILE_NR_LIFETIMES - 1] = { 10, 1000, 100000 };
	size_t i = 0;

	while (i < ARRAY_SIZE(below_us) && lifetime_class_below_us(lifetime) > below_us[i])
		i++;
	return i;
}

static void churn_add(struct profile_heap *figures, const struct heap_model *model,
		      const struct image *image)
{
	uint64_t bytes[PROFILE_NR_LIFETIMES] = { 0 }, blocks[PROFILE_NR_LIFETIMES] = { 0 };

	for (unsigned int i = 0; i < LIFETIME_CLASSES; i++) {
		bytes[churn_class(i)] += image->churn_bytes[i];
		blocks[churn_class(i)] += image->churn_blocks[i];
	}
	for (size_t i = 0; i < PROFILE_NR_LIFETIMES; i++) {
		figures->churn[i].bytes += to_bytes(model, bytes[i]);
		figures->churn[i].blocks += to_blocks(model, blocks[i]);
	}
}

static void figures_add(struct profile_heap *figures, const struct heap_model *model,
			const struct image *image)
{
	figures->allocations += to_blocks(model, image->allocations);
	figures->frees += to_blocks(model, image->frees);
	figures->reallocations += to_blocks(model, image->reallocations);
	figures->allocated_bytes += to_bytes(model, image->allocated_bytes);
	figures->freed_bytes += to_bytes(model, image->freed_bytes);
	figures->live_bytes += to_bytes(model, image->peak.bytes);
	figures->live_blocks += to_blocks(model, image->peak.blocks);
	figures->temporary += to_blocks(model, image->temporary);
	figures->unknown_frees += image->unknown_frees;
	figures->late_events += image->late;
	figures->lost_events += image->lost;
	figures->peak_exact &=
		!image->late && !image->lost && !image->duplicates && !model->is_sample;
	figures->inherited_bytes += to_bytes(model, image->inherited_bytes);
	figures->inherited_frees += to_blocks(model, image->inherited_frees);
	churn_add(figures, model, image);
}

static void figures_peak(struct profile_heap *figures, const struct heap_model *model,
			 const struct peak *peak)
{
	bool now = peak_is_now(peak);

	figures->peak_bytes = to_bytes(model, now ? peak->bytes : peak->max_bytes);
	figures->peak_blocks = to_blocks(model, now ? peak->blocks : peak->max_blocks);
	figures->peak_time_us = figures->allocations
					? (int64_t)((now ? peak->changed_ns : peak->max_ns) / 1000)
					: PROFILE_NO_TIME;
}

static struct peak_part part_in_tree(const struct heap_model *model, uint32_t id)
{
	const struct site *site = &model->sites.at[id];
	bool ended = model->images.at[site->image]->ended;
	struct peak_part now = ended ? (struct peak_part){ 0 } : site_now(site);

	return peak_part_at_max(&model->tree, site->epoch_in_tree, &model->sites.past[id].in_tree,
				&now);
}

bool heap_model_is_settled(const struct heap_model *model, uint32_t image)
{
	uint32_t id = model->images.at[image]->ended ? model->images.at[image]->newest_site : 0;

	while (id && !part_in_tree(model, id - 1).blocks)
		id = model->sites.at[id - 1].older;
	return !id && model->images.at[image]->ended;
}

static struct peak_part part_in_image(const struct heap_model *model, uint32_t id)
{
	const struct site *site = &model->sites.at[id];
	struct peak_part now = site_now(site);

	return peak_part_at_max(&model->images.at[site->image]->peak, site->epoch_in_image,
				&model->sites.past[id].in_image, &now);
}

static void site_add_variances(const struct heap_model *model, uint32_t id,
			       struct profile_heap_site *figures)
{
	const struct site *site = &model->sites.at[id];
	struct peak_part in_image = part_in_image(model, id), in_tree = part_in_tree(model, id);
	uint64_t weight = model->weights.at[id], nr = site->allocations;

	figures->allocations_variance =
		worth_blocks_variance(weight, nr - model->sites.past[id].reallocations);
	figures->allocated_variance = worth_bytes_variance(weight, nr, site->allocated_bytes);
	figures->at_peak_variance = worth_bytes_variance(weight, in_image.blocks, in_image.bytes);
	figures->at_tree_peak_variance =
		worth_bytes_variance(weight, in_tree.blocks, in_tree.bytes);
	figures->live_variance = worth_bytes_variance(weight, site->live_blocks, site->live_bytes);
}

/* From blocks of the sample to parts of what they stand for. */
static void site_scale(struct profile_heap_site *figures, uint64_t weight)
{
	uint64_t *const bytes[] = { &figures->allocated_bytes,
				    &figures->freed_bytes,
				    &figures->at_peak_bytes,
				    &figures->at_tree_peak_bytes,
				    &figures->live_bytes,
				    &figures->at_peak_slack_bytes,
				    &figures->at_tree_peak_slack_bytes };
	uint64_t *const blocks[] = { &figures->allocations,	    &figures->frees,
				     &figures->reallocations,	    &figures->at_peak_blocks,
				     &figures->at_tree_peak_blocks, &figures->live_blocks,
				     &figures->temporary,	    &figures->lifetime_blocks };

	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++)
		*bytes[i] = worth_of(weight, *bytes[i]).bytes;
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		*blocks[i] *= weight;
	figures->lifetime_us =
		(uint64_t)((unsigned __int128)figures->lifetime_us * weight >> WORTH_BLOCK_BITS);
}

void heap_model_site_figures(const struct heap_model *model, uint32_t id,
			     struct profile_heap_site *figures)
{
	const struct site *site = &model->sites.at[id];
	const struct site_past *past = &model->sites.past[id];
	struct peak_part in_image = part_in_image(model, id), in_tree = part_in_tree(model, id);

	*figures = (struct profile_heap_site){
		.process = PROFILE_NONE,
		.stack = PROFILE_NONE,
		.allocations = site->allocations - past->reallocations,
		.frees = site_frees(site),
		.reallocations = past->reallocations,
		.allocated_bytes = site->allocated_bytes,
		.freed_bytes = site->freed_bytes,
		.at_peak_bytes = in_image.bytes,
		.at_peak_blocks = in_image.blocks,
		.at_tree_peak_bytes = in_tree.bytes,
		.at_tree_peak_blocks = in_tree.blocks,
		.live_bytes = site->live_bytes,
		.live_blocks = site->live_blocks,
		.temporary = site->temporary,
		.lifetime_us = site->lifetime_ns / 1000,
		.lifetime_blocks = site_frees(site),
		.moved = past->moved,
		.copied_bytes = past->copied_bytes,
		.at_peak_slack_bytes = in_image.slack,
		.at_tree_peak_slack_bytes = in_tree.slack,
	};
	if (!model->is_sample)
		return;
	site_add_variances(model, id, figures);
	site_scale(figures, model->weights.at[id]);
}

void heap_model_site_histograms(const struct heap_model *model, uint32_t id, uint64_t *sizes,
				uint64_t *lifetimes)
{
	const struct site *site = &model->sites.at[id];
	uint64_t weight = worth(model, id, 0).blocks, asked[SIZE_CLASSES] = { 0 };

	site_add_sizes(site, asked);
	for (size_t i = 0; i < SIZE_CLASSES; i++)
		sizes[i] += asked[i] * weight;
	for (size_t i = 0; i < LIFETIME_CLASSES; i++)
		lifetimes[i] += site->lifetimes[i] * weight;
}

struct heap_size_class heap_model_size(const struct heap_model *model, uint32_t image,
				       unsigned int class)
{
	const struct heap_size_class *sum = &model->images.at[image]->sizes[class];

	return (struct heap_size_class){ to_blocks(model, sum->blocks), to_bytes(model, sum->bytes),
					 to_bytes(model, sum->slack_bytes) };
}

/* Of what the tree holds, or where in_image of what the image does. */
static void figures_add_variances(struct profile_heap *figures, const struct heap_model *model,
				  const struct image *image, bool in_image)
{
	struct profile_heap_site site = { 0 };

	for (uint32_t id = image->newest_site; id; id = model->sites.at[id - 1].older) {
		site_add_variances(model, id - 1, &site);
		figures->peak_variance +=
			in_image ? site.at_peak_variance : site.at_tree_peak_variance;
		figures->live_variance += site.live_variance;
	}
}

void heap_model_figures(const struct heap_model *model, uint32_t image,
			struct profile_heap *figures)
{
	*figures = (struct profile_heap){ .process = PROFILE_NONE, .peak_exact = true };
	if (image != PROFILE_NONE) {
		figures_add(figures, model, model->images.at[image]);
		figures_peak(figures, model, &model->images.at[image]->peak);
		if (model->is_sample)
			figures_add_variances(figures, model, model->images.at[image], true);
		return;
	}
	*figures = model->retired;
	figures->process = PROFILE_NONE;
	vec_each(&model->images, each)
	{
		if (*each)
			figures_add(figures, model, *each);
		if (*each && model->is_sample)
			figures_add_variances(figures, model, *each, false);
	}
	figures_peak(figures, model, &model->tree);
}

void heap_model_retire(struct heap_model *model, uint32_t id)
{
	struct image *image = model->images.at[id];

	figures_add(&model->retired, model, image);
	if (model->is_sample)
		figures_add_variances(&model->retired, model, image, false);
	for (uint32_t site = image->newest_site; site; site = model->sites.at[site - 1].older)
		sites_remove(&model->sites, site - 1);
	image_free(image);
	model->images.at[id] = NULL;
	vec_push(&model->free_images, id);
}

size_t heap_model_nr_threads(const struct heap_model *model, uint32_t image)
{
	return model->images.at[image]->threads.nr;
}

void heap_model_thread_figures(const struct heap_model *model, uint32_t image, size_t index,
			       struct profile_heap_thread *figures)
{
	const struct thread *thread = &model->images.at[image]->threads.at[index];

	*figures = (struct profile_heap_thread){
		.process = PROFILE_NONE,
		.tid = thread->tid,
		.allocations = to_blocks(model, thread->allocations),
		.frees = to_blocks(model, thread->frees),
		.reallocations = to_blocks(model, thread->reallocations),
		.allocated_bytes = to_bytes(model, thread->allocated_bytes),
		.freed_bytes = to_bytes(model, thread->freed_bytes),
		.temporary = to_blocks(model, thread->temporary),
	};
}

struct timeline_slices heap_model_timeline(struct heap_model *model, uint32_t id)
{
	struct timeline_now now;

	if (id == PROFILE_NONE) {
		now = tree_now(model);
		return timeline_take(&model->timeline, &now);
	}
	now = image_now(model, model->images.at[id]);
	return timeline_take(&model->images.at[id]->timeline, &now);
}

uint64_t heap_model_duplicates(const struct heap_model *model, uint32_t image)
{
	return model->images.at[image]->duplicates;
}
