/* SPDX-License-Identifier: MIT */
#include "record/heap/blocks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

#define ROOM_MIN 1024
#define ROOM_SMALL (64 * 1024) /* below, mapping costs more than memory */

static size_t bytes_of(size_t room)
{
	return room * sizeof(struct block);
}

/* Many programs need no more than that.  Mapping and unmapping costs each of them more than memory
 * that is used again; beyond, pages should be there at once (1 us each, 12 us one by one). */
static bool is_small(size_t room)
{
	return room <= ROOM_MIN;
}

static struct block *slots_new(size_t room)
{
	if (is_small(room))
		return xcalloc(room, sizeof(struct block));

	void *at = mmap(NULL, bytes_of(room), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		return xcalloc(SIZE_MAX / 2, 1); /* out of memory, said there */
	madvise(at, bytes_of(room), MADV_HUGEPAGE);
	madvise(at, bytes_of(room), MADV_POPULATE_WRITE);
	return at;
}

static void slots_free(struct block *at, size_t room)
{
	if (is_small(room))
		free(at);
	else
		munmap(at, bytes_of(room));
}

/* What it had is still somebody's. */
static bool leave_others(struct blocks_shard *shard)
{
	bool others = shard->holders && --*shard->holders;

	if (!others)
		free(shard->holders);
	shard->holders = NULL;
	return others;
}

static void shard_release(struct blocks_shard *shard)
{
	if (!leave_others(shard))
		slots_free(shard->at, shard->room);
}

void blocks_release(struct blocks *blocks)
{
	for (size_t i = 0; i < ARRAY_SIZE(blocks->shard); i++)
		shard_release(&blocks->shard[i]);
	*blocks = (struct blocks){ 0 };
}

static void shard_share(struct blocks_shard *shard)
{
	if (!shard->holders) {
		shard->holders = xcalloc(1, sizeof(*shard->holders));
		*shard->holders = 1;
	}
	++*shard->holders;
}

void blocks_share(struct blocks *copy, struct blocks *blocks)
{
	for (size_t i = 0; i < ARRAY_SIZE(blocks->shard); i++) {
		if (!blocks->shard[i].nr)
			continue;
		shard_share(&blocks->shard[i]);
		copy->shard[i] = blocks->shard[i];
	}
}

/* Before a change. */
static void shard_own(struct blocks_shard *shard)
{
	const struct block *at = shard->at;

	if (!leave_others(shard))
		return;
	shard->at = slots_new(shard->room);
	memcpy(shard->at, at, bytes_of(shard->room));
}

static size_t next(const struct blocks_shard *shard, size_t i)
{
	return (i + 1) & (shard->room - 1);
}

/* The slot of the address, or the free one where it belongs. */
static size_t slot_of(const struct blocks_shard *shard, uint64_t hash, uint64_t address)
{
	size_t i = blocks_home(shard, hash, address);

	while (shard->at[i].address && shard->at[i].address != address)
		i = next(shard, i);
	return i;
}

static size_t larger_room(size_t room)
{
	if (!room)
		return ROOM_MIN;
	return room < ROOM_SMALL ? room * 4 : room * 2;
}

static void shard_grow(struct blocks_shard *shard)
{
	struct blocks_shard larger = { .nr = shard->nr, .room = larger_room(shard->room) };

	larger.at = slots_new(larger.room);
	for (size_t i = 0; i < shard->room; i++) {
		uint64_t address = shard->at[i].address;

		if (address)
			larger.at[slot_of(&larger, blocks_hash(address), address)] = shard->at[i];
	}
	shard_release(shard);
	*shard = larger;
}

struct block *blocks_add(struct blocks *blocks, uint64_t address, bool *added)
{
	uint64_t hash = blocks_hash(address);
	struct blocks_shard *shard = blocks_shard(blocks, hash);

	if (shard->nr >= shard->room / 8 * 5)
		shard_grow(shard);
	else if (shard->holders)
		shard_own(shard);

	struct block *block = &shard->at[slot_of(shard, hash, address)];

	*added = !block->address;
	if (*added) {
		shard->nr++;
		block->address = address;
	}
	return block;
}

/* Closes the hole, so that searches need no tombstones. */
static void slot_remove(struct blocks_shard *shard, size_t hole)
{
	const size_t mask = shard->room - 1;

	for (size_t i = next(shard, hole); shard->at[i].address; i = next(shard, i)) {
		uint64_t address = shard->at[i].address;
		size_t home = blocks_home(shard, blocks_hash(address), address);

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			shard->at[hole] = shard->at[i];
			hole = i;
		}
	}
	shard->at[hole] = (struct block){ 0 };
	shard->nr--;
}

const struct block *blocks_find(struct blocks *blocks, uint64_t address)
{
	uint64_t hash = blocks_hash(address);
	const struct blocks_shard *shard = blocks_shard(blocks, hash);
	const struct block *block;

	if (!shard->nr)
		return NULL;
	block = &shard->at[slot_of(shard, hash, address)];
	return block->address ? block : NULL;
}

bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block)
{
	uint64_t hash = blocks_hash(address);
	struct blocks_shard *shard = blocks_shard(blocks, hash);

	if (!shard->nr)
		return false;

	size_t i = slot_of(shard, hash, address);

	if (!shard->at[i].address)
		return false;
	*block = shard->at[i];
	if (shard->holders)
		shard_own(shard);
	slot_remove(shard, i);
	return true;
}
