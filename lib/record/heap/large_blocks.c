/* SPDX-License-Identifier: MIT */
#include "record/heap/large_blocks.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/vec.h"

#define LOG2_MIN 21
#define LOG2_MAX 48 /* as large as addresses get */

void large_blocks_release(struct large_blocks *large)
{
	vec_each(&large->buckets, bucket) vec_free(bucket);
	vec_free(&large->buckets);
	map_release(&large->bucket_of);
	*large = (struct large_blocks){ 0 };
}

static unsigned int log2_of(uint64_t bytes)
{
	unsigned int log2 = 64 - (unsigned int)__builtin_clzll(bytes - 1);

	return log2 < LOG2_MIN ? LOG2_MIN : log2 > LOG2_MAX ? LOG2_MAX : log2;
}

static uint64_t key_of(unsigned int log2, uint64_t number)
{
	return number << 8 | log2;
}

static struct large_bucket *bucket_at(const struct large_blocks *large, uint64_t key)
{
	const uint64_t *index = map_find(&large->bucket_of, key);

	return index ? &large->buckets.at[*index] : NULL;
}

void large_blocks_add(struct large_blocks *large, uint64_t start, uint64_t bytes)
{
	unsigned int log2 = log2_of(bytes);
	bool added;
	uint64_t *index = map_add(&large->bucket_of, key_of(log2, start >> log2), &added);

	if (added) {
		*index = large->buckets.nr;
		vec_add(&large->buckets);
	}
	vec_push(&large->buckets.at[*index], (struct large_block){ start, bytes });
	large->sizes |= UINT64_C(1) << log2;
}

void large_blocks_remove(struct large_blocks *large, uint64_t start, uint64_t bytes)
{
	unsigned int log2 = log2_of(bytes);
	struct large_bucket *bucket = bucket_at(large, key_of(log2, start >> log2));

	if (large->last.start == start)
		large->last.bytes = 0;
	for (size_t i = 0; bucket && i < bucket->nr; i++)
		if (bucket->at[i].start == start) {
			bucket->at[i] = bucket->at[--bucket->nr];
			return;
		}
}

static bool is_in(const struct large_block *block, uint64_t address)
{
	return address - block->start < block->bytes;
}

static const struct large_block *find_in(const struct large_bucket *bucket, uint64_t address)
{
	for (size_t i = 0; bucket && i < bucket->nr; i++)
		if (is_in(&bucket->at[i], address))
			return &bucket->at[i];
	return NULL;
}

static const struct large_block *find_of_size(const struct large_blocks *large, unsigned int log2,
					      uint64_t address)
{
	uint64_t number = address >> log2;

	return find_in(bucket_at(large, key_of(log2, number)), address)
		       ?: find_in(number ? bucket_at(large, key_of(log2, number - 1)) : NULL,
				  address);
}

uint64_t large_blocks_find(struct large_blocks *large, uint64_t address)
{
	const struct large_block *found = is_in(&large->last, address) ? &large->last : NULL;

	for (uint64_t sizes = large->sizes; sizes && !found; sizes &= sizes - 1)
		found = find_of_size(large, (unsigned int)__builtin_ctzll(sizes), address);
	if (found)
		large->last = *found;
	return found ? found->start : 0;
}
