/* SPDX-License-Identifier: MIT */
/*
 * blocks - the live blocks of one image, by address.
 *
 *	struct blocks blocks = { 0 };
 *	block = blocks_add(&blocks, address, &added);	// valid until the next change
 *	if (blocks_take(&blocks, address, &gone))	// found, and removed
 *		use(gone.size);
 *	blocks_share(&copy, &blocks);			// the same blocks, from here on apart
 *	blocks_release(&blocks);
 *
 * Open addressing in a number of shards.  A shard grows alone, so that growing never halts the
 * collector for long, and its memory is populated before use.  Neighbours in the heap are
 * neighbours in the table, in groups of 128 bytes of addresses; the groups are spread by a real
 * mixer.  (A multiplicative hash clusters: 760 ns an event at 10 million blocks.  Locality without
 * groups degenerates where an allocator packs blocks of 8 bytes.)
 *
 * A copy costs nothing until one of the two changes: then what is changed, a shard, is copied.
 */
#ifndef RECORD_HEAP_BLOCKS_H
#define RECORD_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* Address 0 is a free slot; no block has it. */
struct block {
	uint64_t address;
	uint64_t size : 48, thread : 16;
	uint64_t born_ns;
	uint32_t site;
	uint32_t operation; /* the allocation that made it, modulo 2^32; 0: a reallocation did */
};

#define BLOCKS_SHARD_BITS 3
#define BLOCKS_GROUP_BITS 7 /* bytes of address space that stay together */
#define BLOCKS_ALIGN_BITS 4 /* neighbours are so far apart */

struct blocks_shard {
	struct block *at;
	size_t nr, room;   /* room is a power of two */
	uint32_t *holders; /* how many share `at`; NULL: one */
};

struct blocks {
	struct blocks_shard shard[1 << BLOCKS_SHARD_BITS];
};

void blocks_release(struct blocks *blocks);
/* copy: zeroed. */
void blocks_share(struct blocks *copy, struct blocks *blocks);

/* The block at address, new and zeroed but for the address if *added. */
struct block *blocks_add(struct blocks *blocks, uint64_t address, bool *added);
/* Copies the block at address out and removes it; false: there is none. */
bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block);

/* The block at address; NULL: there is none.  Valid until the next change. */
const struct block *blocks_find(struct blocks *blocks, uint64_t address);

static inline struct blocks_shard *blocks_shard(struct blocks *blocks, uint64_t hash)
{
	return &blocks->shard[hash >> (64 - BLOCKS_SHARD_BITS)];
}

/* Both halves of the product: all bits of it depend on all of the group's number. */
static inline uint64_t blocks_hash(uint64_t address)
{
	unsigned __int128 product =
		(unsigned __int128)((address >> BLOCKS_GROUP_BITS) ^ UINT64_C(0xa0761d6478bd642f)) *
		UINT64_C(0xe7037ed1a0b428db);

	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* Where a search for the address starts. */
static inline size_t blocks_home(const struct blocks_shard *shard, uint64_t hash, uint64_t address)
{
	const unsigned int bits = BLOCKS_GROUP_BITS - BLOCKS_ALIGN_BITS;
	uint64_t in_group = (address >> BLOCKS_ALIGN_BITS) & ((1U << bits) - 1);

	return (hash << bits | in_group) & (shard->room - 1);
}

/* Brings the slot of an address that is needed soon into the cache.  (A call that only prefetches
 * has no effect in gcc's eyes: unless inlined it is left out.) */
__attribute__((always_inline)) static inline void blocks_prefetch(struct blocks *blocks,
								  uint64_t address)
{
	uint64_t hash = blocks_hash(address);
	const struct blocks_shard *shard = blocks_shard(blocks, hash);

	if (shard->room)
		__builtin_prefetch(&shard->at[blocks_home(shard, hash, address)], 1);
}

#endif
