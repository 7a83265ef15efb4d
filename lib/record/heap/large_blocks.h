/* SPDX-License-Identifier: MIT */
/*
 * large_blocks - which of the large blocks an address is in.
 *
 *	struct large_blocks large = { 0 };
 *	large_blocks_add(&large, address, size);		// LARGE_BLOCK_MIN bytes or more
 *	start = large_blocks_find(&large, anywhere);	// of the block around it; 0: none
 *	large_blocks_remove(&large, address, size);
 *	large_blocks_release(&large);
 *
 * The blocks do not overlap.  Those of at most 2, 4, 8 ... MiB are kept apart, by the so many
 * addresses that they start in: so of each such size the one around an address is where that is, or
 * just below, however large others are.
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
	struct map bucket_of; /* log2 of the size and address >> that, to index of buckets */
	struct {
		struct large_bucket {
			struct large_block *at;
			size_t nr, room;
		} * at;
		size_t nr, room;
	} buckets;
	uint64_t sizes;		 /* bit n: there were blocks of at most 1 << n bytes */
	struct large_block last; /* found: faults mostly come one after the other */
};

void large_blocks_release(struct large_blocks *large);
void large_blocks_add(struct large_blocks *large, uint64_t start, uint64_t bytes);
void large_blocks_remove(struct large_blocks *large, uint64_t start, uint64_t bytes);
uint64_t large_blocks_find(struct large_blocks *large, uint64_t address);

#endif
