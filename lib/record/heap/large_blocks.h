/* SPDX-License-Identifier: MIT */
/*
 * large_blocks - which of the large blocks an address is in.
 *
 *	struct large_blocks large = { 0 };
 *	large_blocks_add(&large, address, size);		// LARGE_BLOCK_MIN bytes or more
 *	start = large_blocks_find(&large, anywhere);	// of the block around it; 0: none
 *	large_blocks_remove(&large, address);
 *	large_blocks_release(&large);
 *
 * The blocks do not overlap.  They are kept by the 2 MiB of addresses that they start in; a search
 * goes down from there, no further than the largest block reaches.
 */
#ifndef RECORD_HEAP_LARGE_BLOCKS_H
#define RECORD_HEAP_LARGE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

#define LARGE_BLOCK_MIN 4096

struct large_block {
	uint64_t start, bytes;
};

struct large_blocks {
	struct map bucket_of; /* address >> 21 to index of buckets */
	struct {
		struct large_bucket {
			struct large_block *at;
			size_t nr, room;
		} * at;
		size_t nr, room;
	} buckets;
	uint64_t most_bytes;
	struct large_block last; /* found: faults mostly come one after the other */
};

void large_blocks_release(struct large_blocks *large);
void large_blocks_add(struct large_blocks *large, uint64_t start, uint64_t bytes);
void large_blocks_remove(struct large_blocks *large, uint64_t start);
uint64_t large_blocks_find(struct large_blocks *large, uint64_t address);

#endif
