/* SPDX-License-Identifier: MIT */
#include "record/heap/model_state.h"

/* Blocks begin 16 bytes apart, at least in glibc. */
#define GRAIN 16
/* What an allocator writes before a block. */
#define HEAD 16

void heap_model_follow_faults(struct heap_model *model)
{
	model->has_faults = true;
}

static bool small_block_around(const struct model_image *image, uint64_t address,
			       struct block *block)
{
	for (uint64_t at = address & ~(uint64_t)(GRAIN - 1), back = 0;
	     back < LARGE_BLOCK_MIN && back < at; back += GRAIN)
		if (blocks_find(&image->blocks, at - back, block))
			return address - block->address < block->size;
	return false;
}

static bool block_around(const struct model_image *image, uint64_t address, struct block *block)
{
	uint64_t start = large_blocks_find(image->large, address);

	return start ? blocks_find(&image->blocks, start, block)
		     : small_block_around(image, address, block);
}

bool heap_model_fault(struct heap_model *model, uint32_t id, uint64_t address)
{
	struct model_image *image = model->images.at[id];
	struct block block;

	if (!block_around(image, address, &block) && !block_around(image, address + HEAD, &block))
		return false;
	model->sites.past[block.site].page_faults++;
	image->page_faults++;
	return true;
}

void heap_model_fault_elsewhere(struct heap_model *model, uint32_t id)
{
	model->images.at[id]->page_faults++;
}
