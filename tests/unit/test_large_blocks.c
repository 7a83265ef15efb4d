/* SPDX-License-Identifier: MIT */
#include "record/heap/large_blocks.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdbool.h>

#define BLOCKS 40
#define UNIT UINT64_C(0x30000) /* a tenth of a bucket, about */

static struct large_block all[BLOCKS]; /* bytes 0: there is none */
static uint64_t random_state;

static unsigned int pick(unsigned int below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(random_state >> 33) % below;
}

static uint64_t brute_force(uint64_t address)
{
	for (int i = 0; i < BLOCKS; i++)
		if (all[i].bytes && address >= all[i].start &&
		    address < all[i].start + all[i].bytes)
			return all[i].start;
	return 0;
}

static bool overlaps(uint64_t start, uint64_t bytes)
{
	for (int i = 0; i < BLOCKS; i++)
		if (all[i].bytes && start < all[i].start + all[i].bytes &&
		    all[i].start < start + bytes)
			return true;
	return false;
}

static void change(struct large_blocks *large, struct large_block *block)
{
	uint64_t start = UNIT * (1 + pick(2000)) + 16 * pick(1000);
	uint64_t bytes = 4096 + UNIT * (pick(8) ? pick(3) : pick(300));

	if (block->bytes) {
		large_blocks_remove(large, block->start, block->bytes);
		block->bytes = 0;
	} else if (!overlaps(start, bytes)) {
		*block = (struct large_block){ start, bytes };
		large_blocks_add(large, start, bytes);
	}
}

Test(large_blocks, finds_what_brute_force_finds)
{
	struct large_blocks large = { 0 };
	int found = 0;

	random_state = 1;
	for (int i = 0; i < 100000; i++) {
		const struct large_block *some = &all[pick(BLOCKS)];
		uint64_t inside = some->bytes ? some->start + pick((unsigned int)some->bytes) : 1;
		uint64_t edge = some->start + (pick(2) ? some->bytes : UINT64_MAX) - pick(2);
		uint64_t address = pick(2) ? inside : pick(2) ? edge : UNIT * pick(2200);

		cr_assert(eq(u64, large_blocks_find(&large, address), brute_force(address)));
		found += brute_force(address) != 0;
		if (!pick(4))
			change(&large, &all[pick(BLOCKS)]);
	}
	cr_expect(gt(int, found, 10000));
	large_blocks_release(&large);
}

/* It would take years to look wherever a block could begin that reaches so far. */
Test(large_blocks, are_found_or_not_wherever_the_largest_possible_one_is)
{
	const uint64_t huge = UINT64_C(1) << 46, small = UINT64_C(3) << 46;
	struct large_blocks large = { 0 };

	large_blocks_add(&large, huge, huge);
	large_blocks_add(&large, small, 4096);
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t behind = small + 8192 + 4096 * i;

		cr_assert(eq(u64, large_blocks_find(&large, behind), 0));
		cr_assert(eq(u64, large_blocks_find(&large, 2 * huge - 1 - 4096 * i), huge));
		cr_assert(eq(u64, large_blocks_find(&large, small + i % 4096), small));
	}
	large_blocks_release(&large);
}
