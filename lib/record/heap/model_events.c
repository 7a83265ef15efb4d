/* SPDX-License-Identifier: MIT */
/*
 * What an event does to the heap.  There are tens of millions a second: what each goes through is
 * inline, knows when it is compiled whether it is of a sample, and leaves to model_figures.c what can
 * be added up afterwards.
 */
#include "base/alloc.h"
#include "record/heap/model_sums.h"
#include "record/heap/slack.h"

/* Events whose blocks are fetched at once, while those before are applied. */
#define GROUP 32
#define ALWAYS_INLINE inline __attribute__((always_inline))

static struct model_thread *thread_of(struct model_image *image, const struct lane *lane)
{
	return &image->threads.at[lane->thread];
}

static ALWAYS_INLINE struct worth weigh(const struct heap_model *model, uint32_t site,
					uint64_t size, bool is_sample)
{
	return is_sample ? worth_of(model->weights.at[site], size) : (struct worth){ size, 1 };
}

/* After the sums changed. */
static ALWAYS_INLINE void site_gets(struct heap_model *model, const struct sums *sums,
				    uint32_t site, uint64_t address, uint64_t size)
{
	uint64_t glibc_page = sums->image->glibc_page;

	site_keep(&model->sites, site, sums->epochs, glibc_page);
	site_get(&model->sites.at[site], address, size, glibc_page);
}

/* After the sums changed. */
static ALWAYS_INLINE void site_gives(struct heap_model *model, const struct sums *sums,
				     const struct block *block)
{
	uint64_t glibc_page = sums->image->glibc_page;

	site_keep(&model->sites, block->site, sums->epochs, glibc_page);
	site_give(&model->sites.at[block->site], block->address, block->size, glibc_page);
}

static ALWAYS_INLINE uint64_t age(const struct block *block, uint64_t time_ns)
{
	return time_ns > block->born_ns ? time_ns - block->born_ns : 0;
}

/* By whom is counted by the caller.  Returns its class of lifetimes. */
static ALWAYS_INLINE unsigned int take_away(struct heap_model *model, struct sums *sums,
					    const struct block *block, uint64_t time_ns,
					    bool is_sample)
{
	struct worth worth_is = weigh(model, block->site, block->size, is_sample);
	unsigned int class = lifetime_class(age(block, time_ns));

	sums_subtract(sums, model, worth_is, time_ns);
	site_gives(model, sums, block);
	sums->image->churn[class].bytes += worth_is.bytes;
	return class;
}

/* By whom is in counts. */
static ALWAYS_INLINE void give_back(struct heap_model *model, struct sums *sums,
				    struct model_counts *counts, const struct block *block,
				    uint64_t time_ns, bool is_sample)
{
	struct worth worth_is = weigh(model, block->site, block->size, is_sample);
	struct site *site = &model->sites.at[block->site];
	unsigned int class = take_away(model, sums, block, time_ns, is_sample);

	site->lifetimes[class]++;
	site->lifetime_ns += age(block, time_ns);
	sums->image->churn[class].blocks += worth_is.blocks;
	counts->frees += worth_is.blocks;
	counts->freed_bytes += worth_is.bytes;
}

/* A page fault may be anywhere in a large block. */
static ALWAYS_INLINE void note_gone(struct model_image *image, const struct block *block)
{
	if (__builtin_expect(image->large != NULL, 0) && block->size >= LARGE_BLOCK_MIN)
		large_blocks_remove(image->large, block->address, block->size);
}

/* Its free never reached us. */
__attribute__((noinline)) static void end_duplicate(struct heap_model *model, struct sums *sums,
						    const struct block *block, uint64_t time_ns)
{
	struct model_image *image = sums->image;

	image->duplicates++;
	note_gone(image, block);
	give_back(model, sums, &image->apart, block, time_ns, model->is_sample);
}

/* Puts the block into the table. */
static ALWAYS_INLINE void place(struct heap_model *model, struct sums *sums, uint64_t hash,
				const struct block *block, uint64_t time_ns)
{
	struct model_image *image = sums->image;
	struct block former;

	if (__builtin_expect(blocks_put(&image->blocks, hash, block, &former), 0))
		end_duplicate(model, sums, &former, time_ns);
	if (__builtin_expect(image->large != NULL, 0) && block->size >= LARGE_BLOCK_MIN)
		large_blocks_add(image->large, block->address, block->size);
}

static ALWAYS_INLINE void bring(struct heap_model *model, struct sums *sums,
				struct model_thread *thread, const struct heap_event *event,
				uint64_t hash, bool is_sample)
{
	struct worth worth_is = weigh(model, event->site, event->size, is_sample);
	struct block block = {
		.address = event->address,
		.size = event->size,
		.thread = (uint16_t)thread->number,
		.born_ns = event->time_ns,
		.site = event->site,
	};

	place(model, sums, hash, &block, event->time_ns);
	sums_add(sums, model, worth_is, event->time_ns);
	site_gets(model, sums, event->site, event->address, event->size);
	thread->counts.allocated_bytes += worth_is.bytes;
}

static ALWAYS_INLINE void allocate(struct heap_model *model, struct sums *sums,
				   struct model_thread *thread, const struct heap_event *event,
				   uint64_t hash, bool is_sample)
{
	bring(model, sums, thread, event, hash, is_sample);
	thread->counts.allocations += weigh(model, event->site, 0, is_sample).blocks;
	thread->last_address = event->address;
	thread->last_born_ns = event->time_ns;
}

/* The last operation of this thread was the allocation of this very block.  (The time tells apart
 * only what threads without a number of their own do.) */
static ALWAYS_INLINE bool is_temporary(const struct model_thread *thread, const struct block *block)
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
						const struct model_thread *to, struct block block)
{
	struct worth worth_is = worth(model, block.site, block.size);

	if (block.thread == MODEL_NOBODY || to->number == MODEL_NOBODY || to->tid < 0 ||
	    image->threads.at[block.thread].tid < 0)
		return;
	model->sites.at[block.site].cross_thread_frees++;
	handoffs_note(&image->handoffs, block.thread, to->number, worth_is.blocks, worth_is.bytes);
}

static ALWAYS_INLINE void end_block(struct heap_model *model, struct sums *sums,
				    struct model_thread *thread, const struct block *block,
				    uint64_t time_ns, bool is_sample)
{
	if (is_temporary(thread, block)) {
		model->sites.at[block->site].temporary++;
		thread->counts.temporary += weigh(model, block->site, 0, is_sample).blocks;
	}
	if (__builtin_expect(block->thread != thread->number, 0))
		hand_over(model, sums->image, thread, *block);
	give_back(model, sums, &thread->counts, block, time_ns, is_sample);
}

/* There is no such block of the image. */
__attribute__((noinline)) static void release_unknown(struct heap_model *model,
						      struct model_image *image, uint64_t address)
{
	if (image->forked)
		free_inherited(model, image, address);
	else
		image->unknown_frees++;
}

static ALWAYS_INLINE void release(struct heap_model *model, struct sums *sums,
				  struct model_thread *thread, const struct heap_event *event,
				  uint64_t hash, bool is_sample)
{
	struct model_image *image = sums->image;
	struct block block;

	if (__builtin_expect(blocks_take(&image->blocks, hash, event->address, &block), 1)) {
		note_gone(image, &block);
		end_block(model, sums, thread, &block, event->time_ns, is_sample);
	} else {
		release_unknown(model, image, event->address);
	}
	thread->last_address = 0;
}

/* --- reallocations ----------------------------------------------------------------------------*/

static void realloc_failed(struct heap_model *model, struct sums *sums, struct lane *lane,
			   uint64_t time_ns)
{
	const struct block *block = &lane->block;

	if (block->address)
		place(model, sums, blocks_hash(block->address), block, time_ns);
}

static void realloc_begin(struct heap_model *model, struct sums *sums, struct lane *lane,
			  const struct heap_event *event, uint64_t hash)
{
	struct model_image *image = sums->image;

	if (lane->in_realloc)
		realloc_failed(model, sums, lane, event->time_ns);
	lane->in_realloc = true;
	lane->inherited = 0;
	if (blocks_take(&image->blocks, hash, event->address, &lane->block)) {
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

/* The sums change once. */
static void sums_replace(struct sums *sums, struct heap_model *model, uint64_t old_size,
			 uint64_t size, uint64_t time_ns)
{
	if (size < old_size)
		sums_subtract(sums, model, (struct worth){ .bytes = old_size - size }, time_ns);
	else
		sums_add(sums, model, (struct worth){ .bytes = size - old_size }, time_ns);
}

static void reallocate(struct heap_model *model, struct sums *sums, struct model_thread *thread,
		       const struct block *old, const struct heap_event *event, uint64_t hash)
{
	struct model_image *image = sums->image;
	struct site_past *past = &model->sites.past[event->site];
	struct block block = *old;
	uint64_t time_ns = event->time_ns;

	block.address = event->address;
	block.size = event->size;
	block.thread = (uint16_t)thread->number;
	block.site = event->site;
	place(model, sums, hash, &block, time_ns);

	sums_replace(sums, model, old->size, block.size, time_ns);
	site_gives(model, sums, old);
	site_gets(model, sums, block.site, block.address, block.size);
	model->sites.past[old->site].reallocated_away += old->size;
	past->reallocated_here += old->size;
	past->reallocations++;
	note_move(image, past, old, &block);
	image->churn[lifetime_class(age(old, time_ns))].bytes += old->size;
	thread->counts.reallocations++;
	thread->counts.allocated_bytes += block.size;
	thread->counts.freed_bytes += old->size;
}

/* What was allocated before we listened becomes known when it is reallocated. */
static void realloc_done(struct heap_model *model, struct sums *sums, struct lane *lane,
			 const struct heap_event *event, uint64_t hash)
{
	struct model_image *image = sums->image;
	struct model_thread *thread = thread_of(image, lane);

	if (lane->in_realloc && lane->block.address) {
		reallocate(model, sums, thread, &lane->block, event, hash);
	} else {
		if (lane->in_realloc && lane->inherited)
			free_inherited(model, image, lane->inherited);
		else
			image->unknown_frees++;
		allocate(model, sums, thread, event, hash, model->is_sample);
	}
	thread->last_address = 0;
}

static void realloc_freed(struct heap_model *model, struct sums *sums, struct lane *lane,
			  uint64_t time_ns)
{
	struct model_image *image = sums->image;
	struct model_thread *thread = thread_of(image, lane);

	if (lane->inherited)
		free_inherited(model, image, lane->inherited);
	else if (lane->block.address)
		end_block(model, sums, thread, &lane->block, time_ns, model->is_sample);
	else
		image->unknown_frees++;
	thread->last_address = 0;
}

/* The other half of a reallocation is not of the sample, or comes apart. */
static void realloc_left(struct heap_model *model, struct sums *sums, struct lane *lane,
			 uint64_t time_ns)
{
	struct model_image *image = sums->image;
	struct model_thread *thread = thread_of(image, lane);
	const struct block *block = &lane->block;

	if (lane->in_realloc && lane->inherited)
		free_inherited(model, image, lane->inherited);
	else if (lane->in_realloc && block->address) {
		take_away(model, sums, block, time_ns, model->is_sample);
		thread->counts.freed_bytes += worth(model, block->site, block->size).bytes;
	}
	thread->last_address = 0;
	lane->in_realloc = false;
}

static void realloc_came(struct heap_model *model, struct sums *sums, struct model_thread *thread,
			 const struct heap_event *event, uint64_t hash)
{
	bring(model, sums, thread, event, hash, model->is_sample);
	model->sites.past[event->site].reallocations++;
	thread->counts.reallocations += worth(model, event->site, 0).blocks;
	thread->last_address = 0;
}

static void realloc_end(struct heap_model *model, struct sums *sums, struct lane *lane,
			const struct heap_event *event, uint64_t hash)
{
	if (event->op == HEAP_REALLOC_DONE)
		realloc_done(model, sums, lane, event, hash);
	else if (lane->in_realloc && event->op == HEAP_REALLOC_FREED)
		realloc_freed(model, sums, lane, event->time_ns);
	else if (lane->in_realloc)
		realloc_failed(model, sums, lane, event->time_ns);
	lane->in_realloc = false;
}

/* --- all --------------------------------------------------------------------------------------*/

__attribute__((noinline)) static void apply_other(struct heap_model *model, struct sums *sums,
						  struct lane *lane, const struct heap_event *event,
						  uint64_t hash)
{
	switch ((enum heap_op)event->op) {
	case HEAP_ALLOC:
	case HEAP_FREE:
		break;
	case HEAP_REALLOC_BEGIN:
		realloc_begin(model, sums, lane, event, hash);
		break;
	case HEAP_REALLOC_DONE:
	case HEAP_REALLOC_FAILED:
	case HEAP_REALLOC_FREED:
		realloc_end(model, sums, lane, event, hash);
		break;
	case HEAP_REALLOC_LEFT:
		realloc_left(model, sums, lane, event->time_ns);
		break;
	case HEAP_REALLOC_CAME:
		realloc_came(model, sums, thread_of(sums->image, lane), event, hash);
		break;
	case HEAP_OTHERS:
		thread_of(sums->image, lane)->last_address = 0;
		break;
	}
}

/* Whose the events are: mostly those of the one before. */
struct whose {
	uint32_t lane_id;
	struct lane *lane;
	struct model_thread *thread;
	struct sums sums; /* of the image */
};

static void find_whose(struct heap_model *model, struct whose *whose, uint32_t lane_id)
{
	struct lane *lane = &model->lanes.at[lane_id];
	struct model_image *image = model->images.at[lane->image];

	whose->lane_id = lane_id;
	whose->lane = lane;
	whose->thread = thread_of(image, lane);
	if (image != whose->sums.image)
		sums_turn_to(&whose->sums, model, image);
}

/*
 * What the next events will need.  In bursts: with many live blocks most of them are in a page that
 * no TLB knows, and the processor looks up several at once only if what asks for them stands close
 * together.  (A page's look-up takes 150 to 400 ns in a virtual machine.)
 */
static ALWAYS_INLINE void prefetch(struct heap_model *model, const struct heap_event *events,
				   size_t nr, uint64_t *hashes)
{
	uintptr_t homes[GROUP];

	for (size_t i = 0; i < nr; i++) {
		const struct lane *lane = &model->lanes.at[events[i].lane];

		hashes[i] = blocks_hash(events[i].address);
		homes[i] = blocks_at(&model->images.at[lane->image]->blocks, hashes[i]);
		/* There may be none yet. */
		__builtin_prefetch((const void *)((uintptr_t)model->sites.at +
						  events[i].site * sizeof(struct site)),
				   1);
	}
	for (size_t i = 0; i < nr; i++)
		blocks_prefetch(homes[i]);
}

static ALWAYS_INLINE void apply_group(struct heap_model *model, struct whose *whose,
				      const struct heap_event *events, size_t nr,
				      const uint64_t *hashes, bool is_sample)
{
	struct sums *sums = &whose->sums;

	for (size_t i = 0; i < nr; i++) {
		const struct heap_event *event = &events[i];

		if (event->lane != whose->lane_id)
			find_whose(model, whose, event->lane);
		if (event->op == HEAP_ALLOC)
			allocate(model, sums, whose->thread, event, hashes[i], is_sample);
		else if (event->op == HEAP_FREE)
			release(model, sums, whose->thread, event, hashes[i], is_sample);
		else
			apply_other(model, sums, whose->lane, event, hashes[i]);
	}
}

static size_t group_of(size_t left)
{
	return left < GROUP ? left : GROUP;
}

static ALWAYS_INLINE void apply_all(struct heap_model *model, const struct heap_event *events,
				    size_t nr, bool is_sample)
{
	uint64_t hashes[2][GROUP];
	struct whose whose = { .sums.changed_ns = SUMS_NEVER };

	find_whose(model, &whose, events[0].lane);
	prefetch(model, events, group_of(nr), hashes[0]);
	for (size_t i = 0, group = 0; i < nr; i += GROUP, group = !group) {
		size_t next = i + GROUP;

		if (next < nr)
			prefetch(model, events + next, group_of(nr - next), hashes[!group]);
		apply_group(model, &whose, events + i, group_of(nr - i), hashes[group], is_sample);
	}
	sums_settle(&whose.sums, model);
}

void heap_model_apply(struct heap_model *model, const struct heap_event *events, size_t nr)
{
	if (!nr)
		return;
	if (model->is_sample)
		apply_all(model, events, nr, true);
	else
		apply_all(model, events, nr, false);
}
