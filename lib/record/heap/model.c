/* SPDX-License-Identifier: MIT */
#include "record/heap/model.h"

#include <string.h>

#include "base/alloc.h"
#include "record/heap/model_state.h"

struct heap_model *heap_model_new(void)
{
	struct heap_model *model = xcalloc(1, sizeof(*model));

	model->retired.peak_exact = true;
	return model;
}

static void image_release(struct model_image *image)
{
	blocks_release(&image->blocks);
	map_release(&image->thread_of);
	vec_free(&image->lanes);
	heritage_free(image->heritage);
	image->heritage = NULL;
	if (image->large)
		large_blocks_release(image->large);
	free(image->large);
	image->large = NULL;
}

static void image_free(struct model_image *image)
{
	if (!image)
		return;
	image_release(image);
	vec_free(&image->threads);
	handoffs_release(&image->handoffs);
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
	struct model_image *image = xcalloc(1, sizeof(*image));
	uint32_t id = (uint32_t)model->images.nr;

	if (model->has_faults)
		image->large = xcalloc(1, sizeof(*image->large));
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
	struct model_image *image = model->images.at[id];

	return heritage_new(&image->blocks, image->peak.bytes, image->heritage);
}

void heap_model_inherit(struct heap_model *model, uint32_t id, struct heritage *heritage)
{
	struct model_image *image = model->images.at[id];

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

static uint32_t number(uint64_t index)
{
	return index < MODEL_NOBODY ? (uint32_t)index : MODEL_NOBODY;
}

void heap_model_thread(struct heap_model *model, uint32_t lane, int32_t tid, bool fresh)
{
	struct model_image *image = model->images.at[model->lanes.at[lane].image];
	bool added;
	uint64_t *thread = map_add(&image->thread_of, (uint64_t)tid, &added);

	if (added) {
		*thread = image->threads.nr;
		vec_push(&image->threads,
			 (struct model_thread){ .tid = tid, .number = number(*thread) });
	}
	if (fresh)
		image->threads.at[*thread].last_address = 0;
	model->lanes.at[lane].thread = (uint32_t)*thread;
}

uint32_t heap_model_site(struct heap_model *model, uint32_t id)
{
	struct model_image *image = model->images.at[id];
	uint32_t site = sites_add(&model->sites, id, image->newest_site);

	image->newest_site = site + 1;
	return site;
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

/* --- time ---------------------------------------------------------------------------------------*/

void model_turn(struct heap_model *model, struct model_image *image, uint64_t time_ns)
{
	struct timeline_now now;

	if (time_ns >= image->timeline.end_ns) {
		now = model_image_now(model, image);
		timeline_turn(&image->timeline, &now, time_ns);
	}
	if (time_ns >= model->timeline.end_ns) {
		now = model_tree_now(model);
		timeline_turn(&model->timeline, &now, time_ns);
	}
}

/* --- the end of an image -----------------------------------------------------------------------*/

static void leave_tree(struct heap_model *model, struct model_image *image, uint64_t time_ns)
{
	model_turn(model, image, time_ns);
	peak_change(&model->tree, -(int64_t)image->peak.bytes, -(int64_t)image->peak.blocks,
		    time_ns);
	for (uint32_t id = image->newest_site; id; id = model->sites.at[id - 1].older)
		site_keep(&model->sites, id - 1, site_epochs(&image->peak, &model->tree),
			  image->glibc_page);
}

void heap_model_end(struct heap_model *model, uint32_t id, uint64_t time_ns)
{
	struct model_image *image = model->images.at[id];

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

void heap_model_retire(struct heap_model *model, uint32_t id)
{
	struct model_image *image = model->images.at[id];

	model_figures_retire(model, image);
	for (uint32_t site = image->newest_site; site; site = model->sites.at[site - 1].older)
		sites_remove(&model->sites, site - 1);
	image_free(image);
	model->images.at[id] = NULL;
	vec_push(&model->free_images, id);
}
