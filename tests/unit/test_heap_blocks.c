/* SPDX-License-Identifier: MIT */
#include "record/heap/blocks.h"

#include <criterion/criterion.h>

#include "base/map.h"

struct pattern {
	const char *name;
	uint64_t start, stride;
	uint64_t nr;
};

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
		struct block block;
		bool added;

		if (random >> 62) {
			struct block *new = blocks_add(&blocks, address, &added);

			cr_assert_eq(added, !size, "%s", pattern->name);
			cr_assert_eq(new->address, address);
			cr_assert_eq(new->size, size ? *size : 0);
			new->size = (uint64_t)i;
			map_set(&truth, address, (uint64_t)i);
		} else {
			cr_assert_eq(blocks_take(&blocks, address, &block), size != NULL);
			if (size)
				cr_assert_eq(block.size, *size);
			map_remove(&truth, address);
		}
	}
	map_each(&truth, entry)
	{
		struct block block;

		cr_assert(blocks_take(&blocks, entry->key, &block), "%s", pattern->name);
		cr_assert_eq(block.size, entry->value);
	}
	for (size_t i = 0; i < sizeof(blocks.shard) / sizeof(blocks.shard[0]); i++)
		cr_assert_eq(blocks.shard[i].nr, 0);
	blocks_release(&blocks);
	map_release(&truth);
}

static size_t count(struct blocks *blocks, uint64_t from, uint64_t to)
{
	struct block block;
	size_t nr = 0;

	for (uint64_t i = from; i < to; i++)
		nr += blocks_take(blocks, 16 * i, &block);
	return nr;
}

Test(heap_blocks, of_a_copy_do_not_change_with_the_original)
{
	struct blocks blocks = { 0 }, copy = { 0 }, empty = { 0 }, copy_of_empty = { 0 };
	bool added;

	for (uint64_t i = 1; i < 5000; i++)
		blocks_add(&blocks, 16 * i, &added);
	blocks_share(&copy, &blocks);
	cr_assert_eq(count(&blocks, 1, 2000), 1999);
	for (uint64_t i = 5000; i < 20000; i++)
		blocks_add(&blocks, 16 * i, &added);

	struct blocks third = { 0 };

	blocks_share(&third, &copy);
	cr_assert_eq(count(&copy, 1, 20000), 4999);
	cr_assert_eq(count(&blocks, 1, 20000), 18000);
	blocks_release(&blocks);
	cr_assert_eq(count(&third, 1, 20000), 4999);
	blocks_release(&copy);
	blocks_release(&third);

	blocks_share(&copy_of_empty, &empty);
	blocks_add(&copy_of_empty, 16, &added);
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
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		run(&patterns[i]);
}
