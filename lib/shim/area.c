/* SPDX-License-Identifier: MIT */
#include "shim/area.h"

#include "shim/sys.h"
#include "shim/wire.h"

/* The last block has no successor, and so no anchor. */
static size_t mapped_bytes(const struct area *area, uint32_t i)
{
	return area->block_bytes + (i + 1 < area->nr_blocks ? WIRE_ALIGN : 0);
}

bool area_init(struct area *area, int fd, uint64_t at, size_t block_bytes, uint32_t nr_blocks)
{
	for (uint32_t i = 0; i < area->nr_blocks; i++)
		area->block[i] = NULL;
	area->block_bytes = block_bytes;
	area->nr_blocks = nr_blocks;

	char *first =
		sys_mmap(NULL, mapped_bytes(area, 0), PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
	if (sys_failed(first))
		return false;
	sys_madvise(first, mapped_bytes(area, 0), MADV_DONTFORK);
	atomic_store_explicit(&area->block[0], first, memory_order_release);
	return true;
}

/* Maps the block after `before`, unless somebody else was faster. */
static char *map_next(struct area *area, uint32_t i, char *before)
{
	size_t size = mapped_bytes(area, i);
	char *block = sys_mremap_copy(before + area->block_bytes, size), *theirs = NULL;

	if (sys_failed(block))
		return NULL;
	sys_madvise(block, size, MADV_DONTFORK);
	if (atomic_compare_exchange_strong(&area->block[i], &theirs, block))
		return block;
	sys_munmap(block, size);
	return theirs;
}

void *area_map(struct area *area, uint32_t i)
{
	char *block = area->block[0];

	if (i >= area->nr_blocks)
		return NULL;
	for (uint32_t j = 1; block && j <= i; j++) {
		char *next = atomic_load_explicit(&area->block[j], memory_order_acquire);

		block = next ? next : map_next(area, j, block);
	}
	return block;
}

void area_detach(struct area *area)
{
	for (uint32_t i = 0; i < area->nr_blocks && area->block[i]; i++)
		sys_mmap_over(area->block[i], mapped_bytes(area, i));
}
