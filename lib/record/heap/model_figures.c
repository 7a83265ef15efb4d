/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/alloc.h"
#include "record/heap/model_state.h"
#include "record/heap/site_figures.h"

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
		      const struct model_image *image)
{
	uint64_t bytes[PROFILE_NR_LIFETIMES] = { 0 }, blocks[PROFILE_NR_LIFETIMES] = { 0 };

	for (unsigned int i = 0; i < LIFETIME_CLASSES; i++) {
		bytes[churn_class(i)] += image->churn[i].bytes;
		blocks[churn_class(i)] += image->churn[i].blocks;
	}
	for (size_t i = 0; i < PROFILE_NR_LIFETIMES; i++) {
		figures->churn[i].bytes += to_bytes(model, bytes[i]);
		figures->churn[i].blocks += to_blocks(model, blocks[i]);
	}
}

static void counts_add(struct model_counts *sum, const struct model_counts *counts)
{
	sum->allocations += counts->allocations;
	sum->frees += counts->frees;
	sum->reallocations += counts->reallocations;
	sum->allocated_bytes += counts->allocated_bytes;
	sum->freed_bytes += counts->freed_bytes;
	sum->temporary += counts->temporary;
}

struct model_counts model_image_counts(const struct model_image *image)
{
	struct model_counts sum = image->apart;

	vec_each(&image->threads, thread) counts_add(&sum, &thread->counts);
	return sum;
}

static struct timeline_now now(const struct heap_model *model, const struct peak *peak,
			       const struct model_counts *counts)
{
	return (struct timeline_now){ to_bytes(model, peak->bytes),
				      to_blocks(model, counts->allocations),
				      to_bytes(model, counts->allocated_bytes) };
}

struct timeline_now model_image_now(const struct heap_model *model, const struct model_image *image)
{
	struct model_counts counts = model_image_counts(image);

	return now(model, &image->peak, &counts);
}

struct timeline_now model_tree_now(const struct heap_model *model)
{
	struct model_counts sum = model->retired_counts;

	vec_each(&model->images, image)
	{
		struct model_counts counts =
			*image ? model_image_counts(*image) : (struct model_counts){ 0 };

		counts_add(&sum, &counts);
	}
	return now(model, &model->tree, &sum);
}

static void figures_add(struct profile_heap *figures, const struct heap_model *model,
			const struct model_image *image)
{
	struct model_counts counts = model_image_counts(image);

	figures->allocations += to_blocks(model, counts.allocations);
	figures->frees += to_blocks(model, counts.frees);
	figures->reallocations += to_blocks(model, counts.reallocations);
	figures->allocated_bytes += to_bytes(model, counts.allocated_bytes);
	figures->freed_bytes += to_bytes(model, counts.freed_bytes);
	figures->live_bytes += to_bytes(model, image->peak.bytes);
	figures->live_blocks += to_blocks(model, image->peak.blocks);
	figures->temporary += to_blocks(model, counts.temporary);
	figures->unknown_frees += image->unknown_frees;
	figures->late_events += image->late;
	figures->lost_events += image->lost;
	figures->peak_exact &=
		!image->late && !image->lost && !image->duplicates && !model->is_sample;
	figures->inherited_bytes += to_bytes(model, image->inherited_bytes);
	figures->inherited_frees += to_blocks(model, image->inherited_frees);
	figures->page_faults += image->page_faults;
	churn_add(figures, model, image);
}

static void figures_peak(struct profile_heap *figures, const struct heap_model *model,
			 const struct peak *peak)
{
	bool is_now = peak_is_now(peak);

	figures->peak_bytes = to_bytes(model, is_now ? peak->bytes : peak->max_bytes);
	figures->peak_blocks = to_blocks(model, is_now ? peak->blocks : peak->max_blocks);
	figures->peak_time_us =
		figures->allocations ? (int64_t)((is_now ? peak->changed_ns : peak->max_ns) / 1000)
				     : PROFILE_NO_TIME;
}

static struct peak_part now_of(const struct heap_model *model, const struct site *site)
{
	return site_now(site, model->images.at[site->image]->glibc_page);
}

static struct peak_part part_in_tree(const struct heap_model *model, uint32_t id)
{
	const struct site *site = &model->sites.at[id];
	bool ended = model->images.at[site->image]->ended;
	struct peak_part held = ended ? (struct peak_part){ 0 } : now_of(model, site);

	return peak_part_at_max(&model->tree, (uint32_t)(site->epochs >> 32),
				&model->sites.past[id].in_tree, &held);
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
	struct peak_part held = now_of(model, site);

	return peak_part_at_max(&model->images.at[site->image]->peak, (uint32_t)site->epochs,
				&model->sites.past[id].in_image, &held);
}

static void site_add_variances(const struct heap_model *model, uint32_t id,
			       struct profile_heap_site *figures)
{
	const struct site *site = &model->sites.at[id];
	struct peak_part in_image = part_in_image(model, id), in_tree = part_in_tree(model, id);
	struct peak_part live = now_of(model, site);
	uint64_t weight = model->weights.at[id], nr = site->got_blocks;

	figures->allocations_variance =
		worth_blocks_variance(weight, nr - model->sites.past[id].reallocations);
	figures->allocated_variance = worth_bytes_variance(weight, nr, site->got_bytes);
	figures->at_peak_variance = worth_bytes_variance(weight, in_image.blocks, in_image.bytes);
	figures->at_tree_peak_variance =
		worth_bytes_variance(weight, in_tree.blocks, in_tree.bytes);
	figures->live_variance = worth_bytes_variance(weight, live.blocks, live.bytes);
}

void heap_model_site_figures(const struct heap_model *model, uint32_t id,
			     struct profile_heap_site *figures)
{
	const struct site *site = &model->sites.at[id];
	const struct site_past *past = &model->sites.past[id];
	struct peak_part in_image = part_in_image(model, id), in_tree = part_in_tree(model, id);
	uint64_t frees = site_frees(site);

	*figures = (struct profile_heap_site){
		.process = PROFILE_NONE,
		.stack = PROFILE_NONE,
		.allocations = site->got_blocks - past->reallocations,
		.frees = frees,
		.reallocations = past->reallocations,
		.allocated_bytes = site->got_bytes,
		.freed_bytes = site->gone_bytes - past->reallocated_away + past->reallocated_here,
		.at_peak_bytes = in_image.bytes,
		.at_peak_blocks = in_image.blocks,
		.at_tree_peak_bytes = in_tree.bytes,
		.at_tree_peak_blocks = in_tree.blocks,
		.live_bytes = site->got_bytes - site->gone_bytes,
		.live_blocks = site->got_blocks - site->gone_blocks,
		.temporary = site->temporary,
		.cross_thread_frees = site->cross_thread_frees,
		.lifetime_us = site->lifetime_ns / 1000,
		.lifetime_blocks = frees,
		.page_faults = past->page_faults,
		.moved = past->moved,
		.copied_bytes = past->copied_bytes,
		.at_peak_slack_bytes = in_image.slack,
		.at_tree_peak_slack_bytes = in_tree.slack,
	};
	if (!model->is_sample)
		return;
	site_add_variances(model, id, figures);
	site_figures_scale(figures, model->weights.at[id]);
}

void heap_model_site_histograms(const struct heap_model *model, uint32_t id, uint64_t *sizes,
				uint64_t *lifetimes)
{
	const struct site *site = &model->sites.at[id];
	uint64_t weight = worth(model, id, 0).blocks;
	struct histogram_sum asked[SIZE_CLASSES] = { 0 };

	site_add_sizes(site, 0, asked);
	for (size_t i = 0; i < SIZE_CLASSES; i++)
		sizes[i] += asked[i].blocks * weight;
	for (size_t i = 0; i < LIFETIME_CLASSES; i++)
		lifetimes[i] += site->lifetimes[i] * weight;
}

/* What the bytes of so many blocks stand for, as if they had been added up block by block: of a
 * sample those of a site have one size, or a weight of 1. */
static uint64_t worth_of_all(const struct heap_model *model, uint32_t site, uint64_t bytes,
			     uint64_t blocks)
{
	return worth(model, site, bytes / blocks).bytes * blocks +
	       worth(model, site, bytes % blocks).bytes;
}

/* Of a sample, what the site's blocks stand for. */
static void add_worth_of_sizes(const struct heap_model *model, uint32_t site, uint64_t glibc_page,
			       struct histogram_sum *sums)
{
	struct histogram_sum asked[SIZE_CLASSES] = { 0 };

	site_add_sizes(&model->sites.at[site], glibc_page, asked);
	for (size_t i = 0; i < SIZE_CLASSES; i++) {
		uint64_t blocks = asked[i].blocks;

		if (!blocks)
			continue;
		sums[i].blocks += worth(model, site, 0).blocks * blocks;
		sums[i].bytes += worth_of_all(model, site, asked[i].bytes, blocks);
		sums[i].slack_bytes += worth_of_all(model, site, asked[i].slack_bytes, blocks);
	}
}

void heap_model_sizes(const struct heap_model *model, uint32_t id, struct histogram_sum *sizes)
{
	const struct model_image *image = model->images.at[id];

	memset(sizes, 0, SIZE_CLASSES * sizeof(*sizes));
	for (uint32_t site = image->newest_site; site; site = model->sites.at[site - 1].older)
		if (model->is_sample)
			add_worth_of_sizes(model, site - 1, image->glibc_page, sizes);
		else
			site_add_sizes(&model->sites.at[site - 1], image->glibc_page, sizes);
	for (size_t i = 0; i < SIZE_CLASSES; i++)
		sizes[i] = (struct histogram_sum){ to_blocks(model, sizes[i].blocks),
						   to_bytes(model, sizes[i].bytes),
						   to_bytes(model, sizes[i].slack_bytes) };
}

/* Of what the tree holds, or where in_image of what the image does. */
static void figures_add_variances(struct profile_heap *figures, const struct heap_model *model,
				  const struct model_image *image, bool in_image)
{
	struct profile_heap_site site = { 0 };

	for (uint32_t id = image->newest_site; id; id = model->sites.at[id - 1].older) {
		site_add_variances(model, id - 1, &site);
		figures->peak_variance +=
			in_image ? site.at_peak_variance : site.at_tree_peak_variance;
		figures->live_variance += site.live_variance;
	}
}

static void figures_of(const struct heap_model *model, uint32_t image, struct profile_heap *figures)
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

void heap_model_figures(const struct heap_model *model, uint32_t image,
			struct profile_heap *figures)
{
	figures_of(model, image, figures);
	if (!model->has_faults)
		figures->page_faults = PROFILE_UNKNOWN;
}

void model_figures_retire(struct heap_model *model, const struct model_image *image)
{
	struct model_counts counts = model_image_counts(image);

	counts_add(&model->retired_counts, &counts);
	figures_add(&model->retired, model, image);
	if (model->is_sample)
		figures_add_variances(&model->retired, model, image, false);
}

size_t heap_model_nr_threads(const struct heap_model *model, uint32_t image)
{
	return model->images.at[image]->threads.nr;
}

void heap_model_thread_figures(const struct heap_model *model, uint32_t image, size_t index,
			       struct profile_heap_thread *figures)
{
	const struct model_thread *thread = &model->images.at[image]->threads.at[index];

	*figures = (struct profile_heap_thread){
		.process = PROFILE_NONE,
		.tid = thread->tid,
		.allocations = to_blocks(model, thread->counts.allocations),
		.frees = to_blocks(model, thread->counts.frees),
		.reallocations = to_blocks(model, thread->counts.reallocations),
		.allocated_bytes = to_bytes(model, thread->counts.allocated_bytes),
		.freed_bytes = to_bytes(model, thread->counts.freed_bytes),
		.temporary = to_blocks(model, thread->counts.temporary),
	};
}

static int32_t tid_of(const struct model_image *image, uint32_t thread)
{
	return thread == HANDOFF_OTHERS ? PROFILE_OTHER_THREADS : image->threads.at[thread].tid;
}

size_t heap_model_nr_handoffs(const struct heap_model *model, uint32_t image)
{
	return model->images.at[image]->handoffs.all.nr;
}

struct profile_heap_handoff heap_model_handoff(const struct heap_model *model, uint32_t id,
					       size_t index)
{
	const struct model_image *image = model->images.at[id];
	const struct handoff *handoff = &image->handoffs.all.at[index];

	return (struct profile_heap_handoff){
		.process = PROFILE_NONE,
		.from_tid = tid_of(image, handoff->from),
		.to_tid = tid_of(image, handoff->to),
		.frees = to_blocks(model, handoff->blocks),
		.freed_bytes = to_bytes(model, handoff->bytes),
	};
}

struct timeline_slices heap_model_timeline(struct heap_model *model, uint32_t id)
{
	struct timeline_now is;

	if (id == PROFILE_NONE) {
		is = model_tree_now(model);
		return timeline_take(&model->timeline, &is);
	}
	is = model_image_now(model, model->images.at[id]);
	return timeline_take(&model->images.at[id]->timeline, &is);
}

uint64_t heap_model_duplicates(const struct heap_model *model, uint32_t image)
{
	return model->images.at[image]->duplicates;
}
