/* SPDX-License-Identifier: MIT */
#include "record/heap/large_blocks.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/vec.h"

#define BUCKET_BITS 21

void large_blocks_release(struct large_blocks *large)
{
	vec_each(&large->buckets, bucket) vec_free(bucket);
	vec_free(&large->buckets);
	map_release(&large->bucket_of);
	*large = (struct large_blocks){ 0 };
}

static struct large_bucket *bucket_at(const struct large_blocks *large, uint64_t number)
{
	const uint64_t *index = map_find(&large->bucket_of, number);

	return index ? &large->buckets.at[*index] : NULL;
}

void large_blocks_add(struct large_blocks *large, uint64_t start, uint64_t bytes)
{
	bool added;
	uint64_t *index = map_add(&large->bucket_of, start >> BUCKET_BITS, &added);

	if (added) {
		*index = large->buckets.nr;
		vec_add(&large->buckets);
	}
	vec_push(&large->buckets.at[*index], (struct large_block){ start, bytes });
	if (bytes > large->most_bytes)
		large->most_bytes = bytes;
}

void large_blocks_remove(struct large_blocks *large, uint64_t start)
{
	struct large_bucket *bucket = bucket_at(large, start >> BUCKET_BITS);

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

uint64_t large_blocks_find(struct large_blocks *large, uint64_t address)
{
	uint64_t first = address >> BUCKET_BITS, reach = large->most_bytes >> BUCKET_BITS;
	const struct large_block *found = is_in(&large->last, address) ? &large->last : NULL;

	for (uint64_t back = 0; !found && large->most_bytes && back <= reach + 1 && back <= first;
	     back++)
		found = find_in(bucket_at(large, first - back), address);
	if (found)
		large->last = *found;
	return found ? found->start : 0;
}
