/* SPDX-License-Identifier: MIT */
/*
 * chosen - the live blocks of this process that are of the sample, by address.
 *
 *	if (!chosen_add(&chosen, block))	// before anybody else knows it
 *		...;				// there is no room
 *	if (chosen_take(&chosen, block))	// before it is freed
 *		...;				// it was in, and is no more
 *
 * Nobody waits for anybody: any thread, any signal handler, and what a fork finds half done is
 * whole.  A child of a fork has a copy.
 *
 * Each address has its place in one bucket, a cache line, which is looked at as a whole; so
 * nothing is left behind where an address was, and an address that is not in costs a line that is
 * mostly cached.  Of a full bucket the rest is in the next, larger table.
 */
#ifndef SHIM_CHOSEN_H
#define SHIM_CHOSEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHOSEN_TABLES 4
#define CHOSEN_LOG2 10 /* buckets of the first table: 64 KiB */
#define CHOSEN_STEP 4  /* each further one has 16 times as many */
#define CHOSEN_IN_BUCKET 7

struct chosen_bucket {
	_Alignas(64) _Atomic uint64_t further; /* of this bucket, in the tables behind */
	_Atomic uintptr_t block[CHOSEN_IN_BUCKET];
};

struct chosen {
	_Atomic(struct chosen_bucket *) table[CHOSEN_TABLES];
};

/* Makes the first table; false: no memory. */
bool chosen_init(struct chosen *chosen);

bool chosen_add(struct chosen *chosen, const void *block);

/* Behind the first table. */
bool chosen_take_further(struct chosen *chosen, const void *block);

/* The upper bits count. */
static inline uint64_t chosen_hash(const void *block)
{
	return ((uintptr_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

/* NULL: there is no such table. */
static inline struct chosen_bucket *chosen_bucket(struct chosen *chosen, int table,
						  const void *block)
{
	struct chosen_bucket *buckets =
		atomic_load_explicit(&chosen->table[table], memory_order_acquire);
	int log2 = CHOSEN_LOG2 + table * CHOSEN_STEP;

	return buckets ? &buckets[chosen_hash(block) >> (64 - log2)] : NULL;
}

static inline bool chosen_is_in(const struct chosen_bucket *bucket, const void *block)
{
	bool is_in = false;

	for (int i = 0; i < CHOSEN_IN_BUCKET; i++)
		is_in |= atomic_load_explicit(&bucket->block[i], memory_order_relaxed) ==
			 (uintptr_t)block;
	return is_in;
}

/* chosen_init() was done. */
static inline bool chosen_take(struct chosen *chosen, const void *block)
{
	const struct chosen_bucket *bucket = chosen_bucket(chosen, 0, block);

	if (__builtin_expect(!chosen_is_in(bucket, block) &&
				     !atomic_load_explicit(&bucket->further, memory_order_relaxed),
			     1))
		return false;
	return chosen_take_further(chosen, block);
}

#endif
