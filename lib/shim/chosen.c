/* SPDX-License-Identifier: MIT */
#include "shim/chosen.h"

#include "shim/sys.h"

/* False if there is no memory. */
static bool make_table(struct chosen *chosen, int table)
{
	size_t size = sizeof(struct chosen_bucket) << (CHOSEN_LOG2 + table * CHOSEN_STEP);
	struct chosen_bucket *made = sys_mmap_private(size), *nothing = NULL;

	if (sys_failed(made))
		return false;
	if (!atomic_compare_exchange_strong(&chosen->table[table], &nothing, made))
		sys_munmap(made, size);
	return true;
}

bool chosen_init(struct chosen *chosen)
{
	return chosen->table[0] || make_table(chosen, 0);
}

/* Puts `to` where `from` is in the bucket. */
static bool replace(struct chosen_bucket *bucket, uintptr_t from, uintptr_t to)
{
	for (int i = 0; i < CHOSEN_IN_BUCKET; i++) {
		uintptr_t there = from;

		if (atomic_load_explicit(&bucket->block[i], memory_order_relaxed) == from &&
		    atomic_compare_exchange_strong(&bucket->block[i], &there, to))
			return true;
	}
	return false;
}

/* In the buckets of all tables before. */
static void count_further(struct chosen *chosen, int table, const void *block, uint64_t n)
{
	while (table--)
		atomic_fetch_add(&chosen_bucket(chosen, table, block)->further, n);
}

bool chosen_add(struct chosen *chosen, const void *block)
{
	for (int table = 0; table < CHOSEN_TABLES; table++) {
		struct chosen_bucket *bucket = chosen_bucket(chosen, table, block);

		if (!bucket && !make_table(chosen, table))
			return false;
		bucket = chosen_bucket(chosen, table, block);
		if (!replace(bucket, 0, (uintptr_t)block))
			continue;
		count_further(chosen, table, block, 1);
		return true;
	}
	return false;
}

bool chosen_take_further(struct chosen *chosen, const void *block)
{
	for (int table = 0; table < CHOSEN_TABLES; table++) {
		struct chosen_bucket *bucket = chosen_bucket(chosen, table, block);

		if (!bucket)
			return false;
		if (!replace(bucket, (uintptr_t)block, 0))
			continue;
		count_further(chosen, table, block, UINT64_MAX);
		return true;
	}
	return false;
}
