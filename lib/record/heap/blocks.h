/* SPDX-License-Identifier: MIT */
/*
 * blocks - the live blocks of one image, by address.
 *
 *	struct blocks blocks = { 0 };
 *	hash = blocks_hash(address);
 *	blocks_prefetch(blocks_at(&blocks, hash));	// some events ahead
 *	if (blocks_put(&blocks, hash, &block, &former))	// there was one at its address
 *		use(former.size);
 *	if (blocks_take(&blocks, hash, address, &gone))	// found, and removed
 *		use(gone.size);
 *	blocks_share(&copy, &blocks);			// the same blocks, from here on apart
 *	blocks_release(&blocks);
 *
 * With millions of live blocks each event misses the caches, that of pages first: so what is known of a
 * block is packed into 20 bytes, and three of them are a cache line.  A block is in the line that its
 * address says, its home, or in one of the next few where that is full; a home counts those that are
 * away, so that a search for a block that is not there ends at once, and none is moved but by
 * growth.  What does not fit (sites, sizes, times beyond what there are bits for; addresses that no
 * allocator gives out; homes in a crowd) is a stray: in a table aside, unpacked.
 *
 * Neighbours of 64 bytes of addresses have the same home.  (Where more have, dense blocks of 32 bytes
 * fill lines that others are sent to as well.  A multiplicative hash clusters: 760 ns an event at 10
 * million blocks.)
 *
 * The lines are in a number of shards.  A shard grows alone, so that growing never halts the collector
 * for long, and where it is: half of what growing cost were pages that were touched for the first time.
 *
 * A copy costs nothing until one of the two changes: then what is changed, a shard, is copied.
 */
#ifndef RECORD_HEAP_BLOCKS_H
#define RECORD_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/stretch.h"

struct block {
	uint64_t address; /* not 0 */
	uint64_t size, born_ns;
	uint32_t site;
	uint16_t thread;
};

#define BLOCKS_SHARD_BITS 3
#define BLOCKS_GROUP_BITS 6 /* of addresses that have the same home */
#define BLOCKS_IN_LINE 3

/* Bits of what is packed.  Allocators align to 8 bytes at least, and programs have 48 bits: on x86-64
 * one less. */
#define BLOCKS_ADDRESS_BITS 48
#define BLOCKS_ALIGN_BITS 3
#define BLOCKS_SITE_BITS 19
#define BLOCKS_BORN_BITS 48 /* three days */
#define BLOCKS_SIZE_BITS 32

struct blocks_line {
	uint64_t place[BLOCKS_IN_LINE];	  /* key and site; 0: free */
	uint64_t born_by[BLOCKS_IN_LINE]; /* time and thread */
	uint32_t size[BLOCKS_IN_LINE];
	uint32_t away; /* blocks whose home this is and that are elsewhere */
};

_Static_assert(sizeof(struct blocks_line) == 64, "a cache line");

struct blocks_shard {
	struct blocks_line *at;
	uint32_t homes;	   /* lines; there are some more after the last */
	uint32_t *holders; /* how many share `at` and the strays; NULL: one */
	size_t nr;	   /* in lines */
	size_t limit;	   /* of nr, before there must be room made; 0: the lines are shared */
	struct {
		struct block *at;
		size_t nr, room;
	} strays;
	struct map stray_at;	/* index by address */
	struct stretch stretch; /* the memory of the lines; none where these are few */
};

struct blocks {
	struct blocks_shard shard[1 << BLOCKS_SHARD_BITS];
};

void blocks_release(struct blocks *blocks);
/* copy: zeroed. */
void blocks_share(struct blocks *copy, struct blocks *blocks);

/* Copies the block at address out; false: there is none. */
bool blocks_find(const struct blocks *blocks, uint64_t address, struct block *block);

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

/* By the bits after those that choose the shard. */
static inline size_t blocks_home_index(const struct blocks_shard *shard, uint64_t hash)
{
	return (hash << BLOCKS_SHARD_BITS >> 32) * shard->homes >> 32;
}

static inline struct blocks_line *blocks_home(const struct blocks_shard *shard, uint64_t hash)
{
	return &shard->at[blocks_home_index(shard, hash)];
}

/* Where the home of the address is; anywhere if there are no blocks. */
static inline uintptr_t blocks_at(struct blocks *blocks, uint64_t hash)
{
	const struct blocks_shard *shard = blocks_shard(blocks, hash);

	return (uintptr_t)shard->at + blocks_home_index(shard, hash) * sizeof(struct blocks_line);
}

/* Brings a home that is needed soon into the cache, and the line after it, where one block in six
 * is.  (A call that only prefetches has no effect in gcc's eyes: unless inlined it is left out.) */
__attribute__((always_inline)) static inline void blocks_prefetch(uintptr_t home)
{
	__builtin_prefetch((const void *)home, 1);
	__builtin_prefetch((const void *)(home + sizeof(struct blocks_line)), 1);
}

/* What is in a place but for the site.  Of addresses that cannot be packed it is too large, and so in
 * no line. */
static inline uint64_t blocks_key(uint64_t address)
{
	return address >> BLOCKS_ALIGN_BITS | address << (64 - BLOCKS_ALIGN_BITS);
}

/* Where the block is in the line; BLOCKS_IN_LINE: it is not.  Without branches: nobody can foretell
 * them. */
static inline unsigned int blocks_index(const struct blocks_line *line, uint64_t key)
{
	unsigned int i = BLOCKS_IN_LINE;

	i = line->place[2] >> BLOCKS_SITE_BITS == key ? 2 : i;
	i = line->place[1] >> BLOCKS_SITE_BITS == key ? 1 : i;
	return line->place[0] >> BLOCKS_SITE_BITS == key ? 0 : i;
}

static inline unsigned int blocks_free_index(const struct blocks_line *line)
{
	unsigned int i = BLOCKS_IN_LINE;

	i = line->place[2] ? i : 2;
	i = line->place[1] ? i : 1;
	return line->place[0] ? i : 0;
}

static inline bool blocks_fits(const struct block *block)
{
	const uint64_t alignment = (1U << BLOCKS_ALIGN_BITS) - 1;

	return !((block->address & alignment) | block->address >> BLOCKS_ADDRESS_BITS |
		 (uint64_t)block->site >> BLOCKS_SITE_BITS | block->born_ns >> BLOCKS_BORN_BITS |
		 block->size >> BLOCKS_SIZE_BITS);
}

static inline void blocks_pack(struct blocks_line *line, unsigned int i, const struct block *block)
{
	line->place[i] = block->address << (BLOCKS_SITE_BITS - BLOCKS_ALIGN_BITS) | block->site;
	line->born_by[i] = block->born_ns << (64 - BLOCKS_BORN_BITS) | block->thread;
	line->size[i] = (uint32_t)block->size;
}

static inline void blocks_unpack(const struct blocks_line *line, unsigned int i, uint64_t address,
				 struct block *block)
{
	block->address = address;
	block->size = line->size[i];
	block->born_ns = line->born_by[i] >> (64 - BLOCKS_BORN_BITS);
	block->site = line->place[i] & ((1U << BLOCKS_SITE_BITS) - 1);
	block->thread = (uint16_t)line->born_by[i];
}

/* So that there is a free place, and nobody else's. */
void blocks_make_room(struct blocks_shard *shard);
/* So that it is nobody else's.  False: there is nothing. */
bool blocks_own(struct blocks_shard *shard);
/* The same as blocks_put() and blocks_take(), where it is not just in its home. */
bool blocks_put_further(struct blocks_shard *shard, struct blocks_line *home,
			const struct block *block, struct block *former);
bool blocks_take_away(struct blocks_shard *shard, struct blocks_line *home, uint64_t address,
		      struct block *block);

/* Instead of the one that was at this address: true, and that is copied out. */
__attribute__((always_inline)) static inline bool
blocks_put(struct blocks *blocks, uint64_t hash, const struct block *block, struct block *former)
{
	struct blocks_shard *shard = blocks_shard(blocks, hash);

	if (__builtin_expect(shard->nr >= shard->limit, 0))
		blocks_make_room(shard);

	struct blocks_line *home = blocks_home(shard, hash);
	unsigned int free = blocks_free_index(home);
	bool is_there = blocks_index(home, blocks_key(block->address)) < BLOCKS_IN_LINE;

	if (__builtin_expect(
		    is_there || home->away || free == BLOCKS_IN_LINE || !blocks_fits(block), 0))
		return blocks_put_further(shard, home, block, former);
	blocks_pack(home, free, block);
	shard->nr++;
	return false;
}

/* Copies the block at address out and removes it; false: there is none. */
__attribute__((always_inline)) static inline bool blocks_take(struct blocks *blocks, uint64_t hash,
							      uint64_t address, struct block *block)
{
	struct blocks_shard *shard = blocks_shard(blocks, hash);

	if (__builtin_expect(!shard->limit, 0) && !blocks_own(shard))
		return false;

	struct blocks_line *home = blocks_home(shard, hash);
	unsigned int i = blocks_index(home, blocks_key(address));

	if (__builtin_expect(i == BLOCKS_IN_LINE, 0))
		return blocks_take_away(shard, home, address, block);
	blocks_unpack(home, i, address, block);
	home->place[i] = 0;
	shard->nr--;
	return true;
}

#endif
