/* SPDX-License-Identifier: MIT */
/*
 * area - a part of the shared file, mapped block by block as it comes into use.
 *
 *	area_init(&area, fd, WIRE_NODES_AT, block_bytes, nr_blocks);
 *	struct wire_node *nodes = area_block(&area, id / per_block);
 *
 * No descriptor is needed after area_init(): with each block comes a piece of the next one, the
 * anchor, of which mremap() makes a further mapping.  So later blocks can be had after the program
 * closed all descriptors, changed its root, its user or its mind about open(), and what nobody uses
 * takes no address space.  Nothing is ever unmapped.  All mappings are left out of forks.
 *
 * Threads may call area_block() at the same time, and signal handlers in the middle of it.
 */
#ifndef SHIM_AREA_H
#define SHIM_AREA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AREA_BLOCKS 256

struct area {
	size_t block_bytes;
	uint32_t nr_blocks;
	_Atomic(char *) block[AREA_BLOCKS]; /* NULL: not mapped yet */
};

/* Maps block 0.  at and block_bytes: multiples of WIRE_ALIGN.  False if it cannot.  What it had
 * mapped before is forgotten: it was another process's. */
bool area_init(struct area *area, int fd, uint64_t at, size_t block_bytes, uint32_t nr_blocks);

/* Maps block i and all before it; NULL if it cannot. */
void *area_map(struct area *area, uint32_t i);

static inline void *area_block(struct area *area, uint32_t i)
{
	char *block = i < area->nr_blocks
			      ? atomic_load_explicit(&area->block[i], memory_order_acquire)
			      : NULL;

	return __builtin_expect(block != NULL, 1) ? block : area_map(area, i);
}

/*
 * Puts private zeroed memory where the mappings were: for the child of a fork that happened while
 * the shim was at work in the forking thread, and that will return into it.
 */
void area_detach(struct area *area);

#endif
