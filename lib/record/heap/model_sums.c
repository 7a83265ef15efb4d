/* SPDX-License-Identifier: MIT */
#include "record/heap/model_sums.h"

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void sums_load(struct sums *sums, const struct heap_model *model, struct model_image *image)
{
	const struct peak *own = &image->peak, *tree = &model->tree;
	uint64_t others = tree->bytes - own->bytes;
	uint64_t tree_peak = tree->max_bytes > others ? tree->max_bytes - others : 0;

	*sums = (struct sums){
		.image = image,
		.bytes = own->bytes,
		.blocks = own->blocks,
		.changed_ns = SUMS_NEVER,
		.most_bytes = own->bytes,
		.peak_bytes = lesser(own->max_bytes, tree_peak),
		.turn_ns = lesser(image->timeline.end_ns, model->timeline.end_ns),
		.epochs = site_epochs(own, tree),
	};
}

void sums_settle(const struct sums *sums, struct heap_model *model)
{
	if (sums->changed_ns == SUMS_NEVER)
		return;

	struct peak *own = &sums->image->peak, *tree = &model->tree;
	uint64_t others = tree->bytes - own->bytes, most = sums->most_bytes;

	tree->bytes = others + sums->bytes;
	tree->blocks += sums->blocks - own->blocks;
	own->bytes = sums->bytes;
	own->blocks = sums->blocks;
	own->changed_ns = tree->changed_ns = sums->changed_ns;
	timeline_note(&sums->image->timeline, to_bytes(model, most));
	timeline_note(&model->timeline, to_bytes(model, others + most));
}

void sums_turn_to(struct sums *sums, struct heap_model *model, struct model_image *image)
{
	sums_settle(sums, model);
	sums_load(sums, model, image);
}

void sums_end_slice(struct sums *sums, struct heap_model *model, uint64_t time_ns)
{
	sums_settle(sums, model);
	model_turn(model, sums->image, time_ns);
	sums_load(sums, model, sums->image);
}

void sums_leave_peak(struct sums *sums, struct heap_model *model)
{
	sums_settle(sums, model);
	peak_fall(&sums->image->peak);
	peak_fall(&model->tree);
	sums_load(sums, model, sums->image);
}
