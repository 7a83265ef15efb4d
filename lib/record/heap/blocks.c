/* SPDX-License-Identifier: MIT */
#include "record/heap/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

#define LINES_MIN 64
/* A block is in its home or in one of the lines after it. */
#define REACH 8
/* How many are in which of these, and how many are strays: that many or more for good. */
#define COUNT_BITS 2
#define COUNT_MASK ((1U << COUNT_BITS) - 1)
#define STRAYS_SHIFT (REACH * COUNT_BITS)
#define STRAYS_ONE (1U << STRAYS_SHIFT)
#define STRAYS_MANY (UINT32_MAX >> STRAYS_SHIFT)
/* Many programs need no more than that.  Mapping and unmapping costs each of them more than memory
 * that is used again. */
#define SMALL_BYTES (64 * 1024)
/* From this line on no block has its home below the line that it is in, once there are 4/3 as many. */
#define ALL_ABOVE (4 * REACH)

/* --- memory -----------------------------------------------------------------------------------*/

static size_t bytes_of(size_t homes)
{
	return (homes + REACH) * sizeof(struct blocks_line);
}

static size_t nr_lines(const struct blocks_shard *shard)
{
	return shard->at ? shard->homes + REACH : 0;
}

static struct blocks_line *small_lines_new(size_t bytes)
{
	void *at;

	if (posix_memalign(&at, sizeof(struct blocks_line), bytes))
		alloc_failed(bytes);
	return memset(at, 0, bytes);
}

static bool is_small(const struct blocks_shard *shard)
{
	return !shard->stretch.at;
}

/* As many lines as such a number of homes needs; those that it has, and others that are free. */
static void lines_grow(struct blocks_shard *shard, size_t homes)
{
	struct blocks_line *small = is_small(shard) ? shard->at : NULL;
	size_t bytes = bytes_of(homes);

	if (bytes > SMALL_BYTES) {
		stretch_grow(&shard->stretch, bytes);
		shard->at = stretch_start(&shard->stretch);
	} else {
		shard->at = small_lines_new(bytes);
	}
	if (small)
		memcpy(shard->at, small, bytes_of(shard->homes));
	free(small);
	shard->homes = (uint32_t)homes;
}

static void lines_free(struct blocks_shard *shard)
{
	if (is_small(shard))
		free(shard->at);
	stretch_release(&shard->stretch);
}

/* --- strays -----------------------------------------------------------------------------------*/

static void stray_put(struct blocks_shard *shard, const struct block *block)
{
	map_set(&shard->stray_at, block->address, shard->strays.nr);
	vec_push(&shard->strays, *block);
}

static const struct block *stray_find(const struct blocks_shard *shard, uint64_t address)
{
	const uint64_t *index = map_find(&shard->stray_at, address);

	return index ? &shard->strays.at[*index] : NULL;
}

static bool stray_take(struct blocks_shard *shard, uint64_t address, struct block *block)
{
	const struct block *stray = stray_find(shard, address);

	if (!stray)
		return false;

	size_t index = (size_t)(stray - shard->strays.at);
	const struct block *last = vec_last(&shard->strays);

	*block = *stray;
	map_set(&shard->stray_at, last->address, index);
	shard->strays.at[index] = *last;
	shard->strays.nr--;
	map_remove(&shard->stray_at, address);
	return true;
}

/* --- sharing ----------------------------------------------------------------------------------*/

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
	if (!shard->at || leave_others(shard))
		return;
	lines_free(shard);
	vec_free(&shard->strays);
	map_release(&shard->stray_at);
}

void blocks_release(struct blocks *blocks)
{
	for (size_t i = 0; i < ARRAY_SIZE(blocks->shard); i++)
		shard_release(&blocks->shard[i]);
	*blocks = (struct blocks){ 0 };
}

static bool is_empty(const struct blocks_shard *shard)
{
	return !shard->nr && !shard->strays.nr;
}

static void shard_share(struct blocks_shard *shard)
{
	if (!shard->holders) {
		shard->holders = xcalloc(1, sizeof(*shard->holders));
		*shard->holders = 1;
	}
	++*shard->holders;
	shard->limit = 0;
}

void blocks_share(struct blocks *copy, struct blocks *blocks)
{
	for (size_t i = 0; i < ARRAY_SIZE(blocks->shard); i++) {
		if (is_empty(&blocks->shard[i]))
			continue;
		shard_share(&blocks->shard[i]);
		copy->shard[i] = blocks->shard[i];
	}
}

/* 54 % full: one block in six is away from its home.  (With 64 % and a million blocks an event takes half
 * as long again.) */
static size_t limit_of(size_t homes)
{
	return homes * 13 / 8;
}

static void copy_strays(struct blocks_shard *shard)
{
	struct blocks_shard others = *shard;

	memset(&shard->strays, 0, sizeof(shard->strays));
	shard->stray_at = (struct map){ 0 };
	vec_each(&others.strays, stray) stray_put(shard, stray);
}

/* Lines of its own, as they are. */
static void copy_lines(struct blocks_shard *shard)
{
	struct blocks_shard copy = { 0 };

	lines_grow(&copy, shard->homes);
	memcpy(copy.at, shard->at, bytes_of(shard->homes));
	shard->at = copy.at;
	shard->stretch = copy.stretch;
}

bool blocks_own(struct blocks_shard *shard)
{
	if (!shard->at)
		return false;
	shard->limit = limit_of(shard->homes);
	if (leave_others(shard)) {
		copy_lines(shard);
		copy_strays(shard);
	}
	return true;
}

/* --- lines ------------------------------------------------------------------------------------*/

/* The line after the home by so many. */
static unsigned int count_shift(size_t distance)
{
	return (unsigned int)(distance - 1) * COUNT_BITS;
}

/* How far from its home there is room; more than REACH: nowhere. */
static size_t distance_of_room(const struct blocks_line *home)
{
	size_t distance = 0;

	while (distance <= REACH && blocks_free_index(home + distance) == BLOCKS_IN_LINE)
		distance++;
	return distance;
}

static void put_astray(struct blocks_shard *shard, struct blocks_line *home,
		       const struct block *block)
{
	stray_put(shard, block);
	if (home->away >> STRAYS_SHIFT < STRAYS_MANY)
		home->away += STRAYS_ONE;
}

/* There is none at its address. */
static void put_new(struct blocks_shard *shard, struct blocks_line *home, const struct block *block)
{
	size_t distance = blocks_fits(block) ? distance_of_room(home) : REACH + 1;

	if (distance > REACH) {
		put_astray(shard, home, block);
		return;
	}
	blocks_pack(home + distance, blocks_free_index(home + distance), block);
	shard->nr++;
	if (distance)
		home->away += 1U << count_shift(distance);
}

/* With those after the last home 2, 3, 4, 6, 8, 12 ... times as many as the first: little more than
 * needed, and where they are many the kernel can make all of them huge pages. */
static size_t larger(size_t homes)
{
	size_t lines = homes + REACH;

	if (!homes)
		return LINES_MIN - REACH;
	return (lines & (lines - 1) ? lines / 3 * 4 : lines / 2 * 3) - REACH;
}

static uint64_t address_at(const struct blocks_line *line, unsigned int i)
{
	return line->place[i] >> BLOCKS_SITE_BITS << BLOCKS_ALIGN_BITS;
}

/* Blocks of a line that is none any more. */
static void put_again(struct blocks_shard *shard, const struct blocks_line *line)
{
	for (unsigned int i = 0; i < BLOCKS_IN_LINE; i++) {
		uint64_t address = address_at(line, i);
		struct block block;

		if (!address)
			continue;
		blocks_unpack(line, i, address, &block);
		put_new(shard, blocks_home(shard, blocks_hash(address)), &block);
	}
}

/*
 * Puts what is in the first lines to where it belongs since there are more of them.  Homes are in the
 * order of hashes: so a block goes further up, where the last lines were emptied before, but for those
 * in the first few.
 */
static void spread(struct blocks_shard *shard, size_t nr)
{
	size_t nr_first = nr < ALL_ABOVE ? nr : ALL_ABOVE;
	struct blocks_line first[ALL_ABOVE];

	shard->nr = 0;
	for (size_t i = nr; i-- > nr_first;) {
		struct blocks_line line = shard->at[i];

		shard->at[i] = (struct blocks_line){ 0 };
		put_again(shard, &line);
	}
	memcpy(first, shard->at, nr_first * sizeof(first[0]));
	memset(shard->at, 0, nr_first * sizeof(first[0]));
	for (size_t i = 0; i < nr_first; i++)
		put_again(shard, &first[i]);
}

static void shard_grow(struct blocks_shard *shard)
{
	struct blocks_shard before;
	size_t nr;

	blocks_own(shard);
	before = *shard;
	nr = nr_lines(shard);
	lines_grow(shard, larger(shard->homes));
	shard->limit = limit_of(shard->homes);
	memset(&shard->strays, 0, sizeof(shard->strays));
	shard->stray_at = (struct map){ 0 };
	spread(shard, nr);
	vec_each(&before.strays, stray)
		put_new(shard, blocks_home(shard, blocks_hash(stray->address)), stray);
	vec_free(&before.strays);
	map_release(&before.stray_at);
}

void blocks_make_room(struct blocks_shard *shard)
{
	if (!shard->homes || shard->nr >= limit_of(shard->homes))
		shard_grow(shard);
	else
		blocks_own(shard);
}

/* How far from its home the block is; 0: in none of the lines after that. */
static size_t distance_of(const struct blocks_line *home, uint64_t key)
{
	uint32_t away = home->away & (STRAYS_ONE - 1);
	size_t distance;

	for (; away; away &= ~(COUNT_MASK << count_shift(distance))) {
		distance = (unsigned int)__builtin_ctz(away) / COUNT_BITS + 1;
		if (blocks_index(home + distance, key) < BLOCKS_IN_LINE)
			return distance;
	}
	return 0;
}

static void take_out(struct blocks_shard *shard, struct blocks_line *line, uint64_t address,
		     struct block *block)
{
	unsigned int i = blocks_index(line, blocks_key(address));

	blocks_unpack(line, i, address, block);
	line->place[i] = 0;
	shard->nr--;
}

static bool take_astray(struct blocks_shard *shard, struct blocks_line *home, uint64_t address,
			struct block *block)
{
	uint32_t strays = home->away >> STRAYS_SHIFT;

	if (!strays || !stray_take(shard, address, block))
		return false;
	if (strays < STRAYS_MANY)
		home->away -= STRAYS_ONE;
	return true;
}

bool blocks_take_away(struct blocks_shard *shard, struct blocks_line *home, uint64_t address,
		      struct block *block)
{
	size_t distance = distance_of(home, blocks_key(address));

	if (!distance)
		return take_astray(shard, home, address, block);
	take_out(shard, home + distance, address, block);
	home->away -= 1U << count_shift(distance);
	return true;
}

bool blocks_put_further(struct blocks_shard *shard, struct blocks_line *home,
			const struct block *block, struct block *former)
{
	bool had_one = blocks_index(home, blocks_key(block->address)) < BLOCKS_IN_LINE;

	if (had_one)
		take_out(shard, home, block->address, former);
	else if (home->away)
		had_one = blocks_take_away(shard, home, block->address, former);
	put_new(shard, home, block);
	return had_one;
}

static bool find_in(const struct blocks_line *line, uint64_t address, struct block *block)
{
	unsigned int i = blocks_index(line, blocks_key(address));

	if (i < BLOCKS_IN_LINE)
		blocks_unpack(line, i, address, block);
	return i < BLOCKS_IN_LINE;
}

static bool find_astray(const struct blocks_shard *shard, uint64_t address, struct block *block)
{
	const struct block *stray = stray_find(shard, address);

	if (stray)
		*block = *stray;
	return stray;
}

bool blocks_find(const struct blocks *blocks, uint64_t address, struct block *block)
{
	uint64_t hash = blocks_hash(address);
	const struct blocks_shard *shard = &blocks->shard[hash >> (64 - BLOCKS_SHARD_BITS)];

	if (!shard->at)
		return false;

	const struct blocks_line *home = blocks_home(shard, hash);

	return find_in(home + distance_of(home, blocks_key(address)), address, block) ||
	       find_astray(shard, address, block);
}
