/* SPDX-License-Identifier: MIT */
/* What an event does to the heap. */
#include "base/alloc.h"
#include "record/heap/model_state.h"
#include "record/heap/slack.h"

#define PREFETCH_AHEAD 16
/* What each event goes through: a call is a tenth of it. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

static struct model_thread *thread_of(struct model_image *image, const struct lane *lane)
{
	return &image->threads.at[lane->thread];
}

/* Before what was allocated is counted. */
static ALWAYS_INLINE void sums_change(struct heap_model *model, struct model_image *image,
				      int64_t bytes, int64_t blocks, uint64_t time_ns)
{
	if (time_ns >= image->timeline.end_ns || time_ns >= model->timeline.end_ns)
		model_turn(model, image, time_ns);
	peak_change(&image->peak, bytes, blocks, time_ns);
	peak_change(&model->tree, bytes, blocks, time_ns);
	timeline_note(&image->timeline, to_bytes(model, image->peak.bytes));
	timeline_note(&model->timeline, to_bytes(model, model->tree.bytes));
}

static inline void note_size(const struct heap_model *model, struct model_image *image,
			     const struct block *block, uint64_t slack)
{
	struct heap_size_class *class = &image->sizes[size_class(block->size)];
	struct worth worth_is = worth(model, block->site, block->size);

	class->blocks += worth_is.blocks;
	class->bytes += worth_is.bytes;
	class->slack_bytes += worth(model, block->site, slack).bytes;
}

/* After sums_change(). */
static ALWAYS_INLINE void site_gets(struct heap_model *model, struct model_image *image,
				    const struct block *block)
{
	uint64_t slack = slack_of(image->glibc_page, block->address, block->size);

	site_keep(&model->sites, block->site, &image->peak, &model->tree);
	site_get(&model->sites.at[block->site], block->size, slack);
	note_size(model, image, block, slack);
}

/* After sums_change(). */
static ALWAYS_INLINE void site_gives(struct heap_model *model, const struct model_image *image,
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
static ALWAYS_INLINE unsigned int take_away(struct heap_model *model, struct model_image *image,
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

static ALWAYS_INLINE void give_back(struct heap_model *model, struct model_image *image,
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

/* A page fault may be anywhere in a large block. */
static inline void note_gone(struct model_image *image, const struct block *block)
{
	if (__builtin_expect(image->large != NULL, 0) && block->size >= LARGE_BLOCK_MIN)
		large_blocks_remove(image->large, block->address, block->size);
}

/* Puts the block into the table.  Was one there, then its free never reached us. */
static ALWAYS_INLINE void place(struct heap_model *model, struct model_image *image,
				const struct block *block, uint64_t time_ns)
{
	struct block former;

	if (__builtin_expect(
		    blocks_put(&image->blocks, blocks_hash(block->address), block, &former), 0)) {
		image->duplicates++;
		note_gone(image, &former);
		give_back(model, image, &former, time_ns);
	}
	if (__builtin_expect(image->large != NULL, 0) && block->size >= LARGE_BLOCK_MIN)
		large_blocks_add(image->large, block->address, block->size);
}

static inline void bring(struct heap_model *model, struct model_image *image,
			 struct model_thread *thread, const struct heap_event *event)
{
	struct worth worth_is = worth(model, event->site, event->size);
	struct block block = {
		.address = event->address,
		.size = event->size,
		.thread = (uint16_t)thread->number,
		.born_ns = event->time_ns,
		.site = event->site,
	};

	place(model, image, &block, event->time_ns);
	sums_change(model, image, (int64_t)worth_is.bytes, (int64_t)worth_is.blocks,
		    event->time_ns);
	site_gets(model, image, &block);
	image->allocated_bytes += worth_is.bytes;
	model->allocated_bytes += worth_is.bytes;
	thread->allocated_bytes += worth_is.bytes;
}

static void allocate(struct heap_model *model, struct model_image *image,
		     struct model_thread *thread, const struct heap_event *event)
{
	uint64_t blocks = worth(model, event->site, event->size).blocks;

	bring(model, image, thread, event);
	image->allocations += blocks;
	model->allocations += blocks;
	thread->allocations += blocks;
	thread->last_address = event->address;
	thread->last_born_ns = event->time_ns;
}

/* The last operation of this thread was the allocation of this very block.  (The time tells apart
 * only what threads without a number of their own do.) */
static bool is_temporary(const struct model_thread *thread, const struct block *block)
{
	return thread->last_address == block->address && thread->number == block->thread &&
	       thread->last_born_ns == block->born_ns;
}

/* The forked child frees what is not its own.  It may be none that we knew: a thread of the parent
 * was just about to tell. */
static void free_inherited(struct heap_model *model, struct model_image *image, uint64_t address)
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

/* From one thread to another, of which we know who they are. */
__attribute__((noinline)) static void hand_over(struct heap_model *model, struct model_image *image,
						const struct model_thread *to,
						const struct block *block)
{
	struct worth worth_is = worth(model, block->site, block->size);

	if (block->thread == MODEL_NOBODY || to->number == MODEL_NOBODY || to->tid < 0 ||
	    image->threads.at[block->thread].tid < 0)
		return;
	model->sites.at[block->site].cross_thread_frees++;
	handoffs_note(&image->handoffs, block->thread, to->number, worth_is.blocks, worth_is.bytes);
}

static inline void end_block(struct heap_model *model, struct model_image *image,
			     struct model_thread *thread, const struct block *block,
			     uint64_t time_ns)
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
		if (__builtin_expect(block->thread != thread->number, 0))
			hand_over(model, image, thread, block);
		give_back(model, image, block, time_ns);
		thread->frees += worth_is.blocks;
		thread->freed_bytes += worth_is.bytes;
	}
	thread->last_address = 0;
}

static inline void release(struct heap_model *model, struct model_image *image,
			   struct model_thread *thread, const struct heap_event *event)
{
	struct block block = { 0 };
	bool is_own = blocks_take(&image->blocks, blocks_hash(event->address), event->address,
				  &block);

	if (is_own)
		note_gone(image, &block);
	if (is_own || !image->forked) {
		end_block(model, image, thread, &block, event->time_ns);
		return;
	}
	free_inherited(model, image, event->address);
	thread->last_address = 0;
}

static void realloc_failed(struct heap_model *model, struct model_image *image, struct lane *lane,
			   uint64_t time_ns)
{
	if (lane->block.address)
		place(model, image, &lane->block, time_ns);
}

static void realloc_begin(struct heap_model *model, struct model_image *image, struct lane *lane,
			  const struct heap_event *event)
{
	if (lane->in_realloc)
		realloc_failed(model, image, lane, event->time_ns);
	lane->in_realloc = true;
	lane->inherited = 0;
	if (blocks_take(&image->blocks, blocks_hash(event->address), event->address, &lane->block)) {
		note_gone(image, &lane->block);
		return;
	}
	lane->block.address = 0;
	if (image->forked)
		lane->inherited = event->address;
}

/* Pages of its own are mapped elsewhere, not copied. */
static void note_move(const struct model_image *image, struct site_past *site,
		      const struct block *from, const struct block *to)
{
	if (from->address == to->address)
		return;
	site->moved++;
	if (!image->glibc_page || !slack_is_mapped(image->glibc_page, from->address, from->size) ||
	    !slack_is_mapped(image->glibc_page, to->address, to->size))
		site->copied_bytes += from->size < to->size ? from->size : to->size;
}

static void reallocate(struct heap_model *model, struct model_image *image,
		       struct model_thread *thread, const struct block *old,
		       const struct heap_event *event)
{
	struct block block = *old;
	uint64_t time_ns = event->time_ns;

	block.address = event->address;
	block.size = event->size;
	block.thread = (uint16_t)thread->number;
	block.site = event->site;
	place(model, image, &block, time_ns);

	sums_change(model, image, (int64_t)block.size - (int64_t)old->size, 0, time_ns);
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
static void realloc_done(struct heap_model *model, struct model_image *image, struct lane *lane,
			 const struct heap_event *event)
{
	struct model_thread *thread = thread_of(image, lane);

	if (lane->in_realloc && lane->block.address) {
		reallocate(model, image, thread, &lane->block, event);
	} else {
		if (lane->in_realloc && lane->inherited)
			free_inherited(model, image, lane->inherited);
		else
			image->unknown_frees++;
		allocate(model, image, thread, event);
	}
	thread->last_address = 0;
}

/* The other half of a reallocation is not of the sample, or comes apart. */
static void realloc_left(struct heap_model *model, struct model_image *image, struct lane *lane,
			 uint64_t time_ns)
{
	struct model_thread *thread = thread_of(image, lane);
	const struct block *block = &lane->block;

	if (lane->in_realloc && lane->inherited)
		free_inherited(model, image, lane->inherited);
	else if (lane->in_realloc && block->address) {
		take_away(model, image, block, time_ns);
		thread->freed_bytes += worth(model, block->site, block->size).bytes;
	}
	thread->last_address = 0;
	lane->in_realloc = false;
}

static void realloc_came(struct heap_model *model, struct model_image *image,
			 struct model_thread *thread, const struct heap_event *event)
{
	uint64_t blocks = worth(model, event->site, event->size).blocks;

	bring(model, image, thread, event);
	model->sites.past[event->site].reallocations++;
	image->reallocations += blocks;
	thread->reallocations += blocks;
	thread->last_address = 0;
}

static void realloc_end(struct heap_model *model, struct model_image *image, struct lane *lane,
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
	struct model_image *image = model->images.at[lane->image];

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
		thread_of(image, lane)->last_address = 0;
		break;
	}
}

__attribute__((always_inline)) static inline void prefetch(struct heap_model *model,
							   const struct heap_event *event)
{
	const struct lane *lane = &model->lanes.at[event->lane];

	blocks_prefetch(blocks_at(&model->images.at[lane->image]->blocks,
				  blocks_hash(event->address)));
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
