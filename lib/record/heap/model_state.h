/* SPDX-License-Identifier: MIT */
/*
 * model_state - what a heap model keeps: for model_events.c, which changes it by events (the sums of
 * images by model_sums.h), model_faults.c, which finds the blocks that page faults are in, and
 * model_figures.c, which tells what it comes to.  What can be added up afterwards is not counted with
 * each event.
 *
 * In a sample a block counts for as many as it stands for: sums of images, threads and the tree are
 * worths (worth.h), which to_blocks() and to_bytes() turn into numbers; those of sites are of the
 * sample's blocks.
 */
#ifndef RECORD_HEAP_MODEL_STATE_H
#define RECORD_HEAP_MODEL_STATE_H

#include "base/map.h"
#include "base/vec.h"
#include "record/heap/blocks.h"
#include "record/heap/handoffs.h"
#include "record/heap/large_blocks.h"
#include "record/heap/model.h"
#include "record/heap/peak.h"
#include "record/heap/site.h"
#include "record/heap/timeline.h"
#include "record/heap/worth.h"
#include "store/classes.h"

/* The threads after these share the number of nobody. */
#define MODEL_NOBODY UINT16_MAX

struct model_counts {
	uint64_t allocations, frees, reallocations;
	uint64_t allocated_bytes, freed_bytes;
	uint64_t temporary;
};

struct model_thread {
	int32_t tid;
	uint32_t number; /* of the image's threads, as blocks have it */
	/* Of the block that its last operation allocated; address 0: that was another one. */
	uint64_t last_address, last_born_ns;
	struct model_counts counts;
};

struct model_image {
	struct blocks blocks;
	struct peak peak;
	struct timeline timeline;
	uint64_t glibc_page;  /* see slack.h */
	struct map thread_of; /* tid to index of threads */
	VEC(struct model_thread) threads;
	struct model_counts apart;  /* of no thread */
	struct handoffs handoffs;   /* by number of thread */
	struct large_blocks *large; /* NULL: page faults are not followed */
	uint64_t page_faults;
	VEC(uint32_t) lanes;
	uint32_t newest_site; /* + 1 */
	struct {
		uint64_t bytes, blocks;
	} churn[LIFETIME_CLASSES];
	uint64_t unknown_frees, duplicates, late, lost;
	bool forked;
	struct heritage *heritage; /* NULL: none, or not known */
	uint64_t inherited_bytes, inherited_frees;
	bool ended;
};

struct lane {
	uint32_t image, thread;
	bool in_realloc;
	uint64_t inherited; /* in the hands of realloc: a block of the parent's; 0: none */
	struct block block; /* in the hands of realloc; address 0: an unknown one */
};

struct heap_model {
	VEC(struct model_image *) images;
	struct sites sites;
	VEC(struct lane) lanes;
	VEC(uint32_t) free_lanes, free_images;
	struct profile_heap retired;	    /* sums over the images that are forgotten */
	struct model_counts retired_counts; /* the same, as they are kept */
	struct peak tree;
	struct timeline timeline; /* of the tree */
	bool is_sample, has_faults;
	VEC(uint64_t) weights; /* of a sample, by site */
};

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

/* Over the threads of an image: nobody counts that while events are applied. */
struct model_counts model_image_counts(const struct model_image *image);
struct timeline_now model_image_now(const struct heap_model *model,
				    const struct model_image *image);
struct timeline_now model_tree_now(const struct heap_model *model);

/* Adds the figures of an image that is to be forgotten to those of all that are. */
void model_figures_retire(struct heap_model *model, const struct model_image *image);

/* Before something changes at this time, which is in a later slice of the timelines: seldom. */
void model_turn(struct heap_model *model, struct model_image *image, uint64_t time_ns);

#endif
