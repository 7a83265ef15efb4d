/* SPDX-License-Identifier: MIT */
#include "record/heap/blocks.h"

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"

struct pattern {
	const char *name;
	uint64_t start, stride;
	uint64_t nr;
};

static bool put(struct blocks *blocks, uint64_t address, uint64_t size, struct block *former)
{
	const struct block block = { .address = address, .size = size };

	return blocks_put(blocks, blocks_hash(address), &block, former);
}

/* Sizes by address, kept twice: in blocks and in a map. */
static void run(const struct pattern *pattern)
{
	struct blocks blocks = { 0 };
	struct map truth = { 0 };
	uint64_t random = 1;

	for (int i = 0; i < 60000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;

		uint64_t address = pattern->start + (random >> 33) % pattern->nr * pattern->stride;
		uint64_t *size = map_find(&truth, address);
		struct block block, found;
		bool is_there = blocks_find(&blocks, address, &found);

		cr_assert_eq(is_there, size != NULL, "%s", pattern->name);
		if (size)
			cr_assert_eq(found.size, *size, "%s", pattern->name);
		if (random >> 62) {
			cr_assert_eq(put(&blocks, address, (uint64_t)i, &block), is_there);
			map_set(&truth, address, (uint64_t)i);
		} else {
			cr_assert_eq(blocks_take(&blocks, blocks_hash(address), address, &block),
				     is_there);
			map_remove(&truth, address);
		}
		if (is_there) {
			cr_assert_eq(block.address, address);
			cr_assert_eq(block.size, found.size);
		}
	}
	map_each(&truth, entry)
	{
		struct block block;

		cr_assert(blocks_take(&blocks, blocks_hash(entry->key), entry->key, &block), "%s",
			  pattern->name);
		cr_assert_eq(block.size, entry->value);
	}
	for (size_t i = 0; i < sizeof(blocks.shard) / sizeof(blocks.shard[0]); i++) {
		cr_assert_eq(blocks.shard[i].nr, 0);
		cr_assert_eq(blocks.shard[i].strays.nr, 0);
	}
	blocks_release(&blocks);
	map_release(&truth);
}

/* One in 16 is too large for the lines. */
static void put_many(struct blocks *blocks, uint64_t from, uint64_t to)
{
	struct block former;

	for (uint64_t i = from; i < to; i++)
		put(blocks, 16 * i, i % 16 ? i : UINT64_C(1) << 40, &former);
}

/* Takes them out. */
static size_t count(struct blocks *blocks, uint64_t from, uint64_t to)
{
	struct block block;
	size_t nr = 0;

	for (uint64_t i = from; i < to; i++)
		nr += blocks_take(blocks, blocks_hash(16 * i), 16 * i, &block);
	return nr;
}

Test(heap_blocks, of_a_copy_do_not_change_with_the_original)
{
	struct blocks blocks = { 0 }, copy = { 0 }, empty = { 0 }, copy_of_empty = { 0 };

	put_many(&blocks, 1, 5000);
	blocks_share(&copy, &blocks);
	cr_assert_eq(count(&blocks, 1, 2000), 1999);
	put_many(&blocks, 5000, 20000);

	struct blocks third = { 0 };

	blocks_share(&third, &copy);
	cr_assert_eq(count(&copy, 1, 20000), 4999);
	cr_assert_eq(count(&blocks, 1, 20000), 18000);
	blocks_release(&blocks);
	cr_assert_eq(count(&third, 1, 20000), 4999);
	blocks_release(&copy);
	blocks_release(&third);

	blocks_share(&copy_of_empty, &empty);
	put_many(&copy_of_empty, 1, 2);
	cr_assert_eq(count(&empty, 0, 10), 0);
	blocks_release(&copy_of_empty);
	blocks_release(&empty);
}

Test(heap_blocks, hold_what_was_put_in_whatever_the_addresses)
{
	const struct pattern patterns[] = {
		{ "few", 8, 8, 3 },
		{ "dense, 8 bytes", 0x7f0000000000, 8, 30000 },
		{ "dense, 32 bytes", 0x555500000010, 32, 30000 },
		{ "pages", 0x7f0000000000, 4096, 30000 },
		{ "far apart", 0x10, 1ULL << 32, 30000 },
		{ "one byte apart", 1, 1, 30000 },
		{ "the last ones of user space", 0x7ffffff00000, 8, 0x20000 },
		{ "the same of aarch64", 0xfffffff00000, 8, 0x20000 },
		{ "the last ones of all", UINT64_MAX - 100, 1, 101 },
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		run(&patterns[i]);
}

/* All of the block, at one address after the other, some of which are live. */
static void replace(struct blocks *blocks, uint64_t address, const struct block *values, size_t nr)
{
	struct block block, former, found;

	for (size_t i = 0; i < nr; i++) {
		block = values[i];
		block.address = address;
		cr_assert_eq(blocks_put(blocks, blocks_hash(address), &block, &former), i > 0);
		if (i) {
			cr_assert_eq(former.address, address);
			cr_assert_eq(former.size, values[i - 1].size);
		}
		cr_assert(blocks_find(blocks, address, &found));
		cr_assert_eq(found.address, address);
		cr_assert_eq(found.size, block.size);
		cr_assert_eq(found.born_ns, block.born_ns);
		cr_assert_eq(found.site, block.site);
		cr_assert_eq(found.thread, block.thread);
	}
}

Test(heap_blocks, are_as_they_were_put_in_whatever_their_sizes_sites_times_and_threads)
{
	const struct block values[] = {
		{ .size = 0, .born_ns = 0, .site = 0, .thread = 0 },
		{ .size = UINT32_MAX,
		  .born_ns = (1ULL << 48) - 1,
		  .site = (1U << 20) - 1,
		  .thread = UINT16_MAX },
		{ .size = 1ULL << 32, .born_ns = 1, .site = 2, .thread = 3 },
		{ .size = (1ULL << 48) - 1, .born_ns = 4, .site = 5, .thread = 6 },
		{ .size = 7, .born_ns = 1ULL << 48, .site = 8, .thread = 9 },
		{ .size = 10, .born_ns = UINT64_MAX, .site = 11, .thread = 12 },
		{ .size = 13, .born_ns = 14, .site = 1U << 20, .thread = 15 },
		{ .size = 16, .born_ns = 17, .site = UINT32_MAX, .thread = 18 },
		{ .size = 19, .born_ns = 20, .site = 21, .thread = 22 },
	};
	struct blocks blocks = { 0 };

	for (uint64_t i = 1; i < 3000; i++)
		replace(&blocks, 48 * i, values, 1 + i % ARRAY_SIZE(values));
	blocks_release(&blocks);
}

/* All that have the same home, however many lines there are. */
static uint64_t next_in_crowd(uint64_t address)
{
	do
		address += 64;
	while (blocks_hash(address) >> 48);
	return address;
}

/* Where programs have their heaps and their mappings on x86-64 and on aarch64. */
Test(heap_blocks, of_every_machine_are_packed)
{
	const uint64_t starts[] = { 0x555555555000, 0x7ffff7000000, 0xaaaaaaaaa000,
				    0xffffff000000 };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		struct blocks blocks = { 0 };
		struct block former;
		size_t nr = 0;

		for (uint64_t j = 0; j < 10000; j++)
			put(&blocks, starts[i] + 264 * j, j, &former);
		for (size_t j = 0; j < ARRAY_SIZE(blocks.shard); j++)
			nr += blocks.shard[j].nr;
		cr_assert_eq(nr, 10000, "%zu from %#lx on", nr, starts[i]);
		blocks_release(&blocks);
	}
}

Test(heap_blocks, in_a_crowd_are_found_and_gone_like_others)
{
	enum { NR = 200 };
	struct blocks blocks = { 0 };
	uint64_t addresses[NR], address = 0;
	struct block block;

	for (size_t i = 0; i < NR; i++) {
		addresses[i] = address = next_in_crowd(address);
		cr_assert(!put(&blocks, address, i, &block));
	}
	cr_assert(blocks.shard[0].strays.nr > NR / 2);
	for (size_t i = 0; i < NR; i++) {
		size_t at = i * 37 % NR;

		cr_assert(put(&blocks, addresses[at], 1000 + at, &block));
		cr_assert_eq(block.size, at);
	}
	for (size_t i = 0; i < NR; i++) {
		size_t at = i * 91 % NR;

		cr_assert(blocks_take(&blocks, blocks_hash(addresses[at]), addresses[at], &block));
		cr_assert_eq(block.size, 1000 + at);
		cr_assert(!blocks_take(&blocks, blocks_hash(addresses[at]), addresses[at], &block));
	}
	cr_assert_eq(blocks.shard[0].nr + blocks.shard[0].strays.nr, 0);
	blocks_release(&blocks);
}

Test(heap_blocks, stay_when_more_and_more_come_around_a_crowd)
{
	enum { NR_CROWD = 40, NR_OTHERS = 60000, STRIDE = 4096 };
	struct blocks blocks = { 0 };
	uint64_t crowd[NR_CROWD], address = 0;
	struct block block, former;

	for (size_t i = 0; i < NR_CROWD; i++) {
		crowd[i] = address = next_in_crowd(address);
		put(&blocks, address, i, &former);
	}
	for (uint64_t i = 1; i <= NR_OTHERS; i++)
		put(&blocks, (UINT64_C(1) << 40) + i * STRIDE, NR_CROWD + i, &former);
	for (size_t i = 0; i < NR_CROWD; i++) {
		cr_assert(blocks_take(&blocks, blocks_hash(crowd[i]), crowd[i], &block));
		cr_assert_eq(block.size, i);
	}
	for (uint64_t i = 1; i <= NR_OTHERS; i++) {
		address = (UINT64_C(1) << 40) + i * STRIDE;
		cr_assert(blocks_take(&blocks, blocks_hash(address), address, &block));
		cr_assert_eq(block.size, NR_CROWD + i);
	}
	blocks_release(&blocks);
}
