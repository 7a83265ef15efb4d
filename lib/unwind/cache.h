/* SPDX-License-Identifier: MIT */
/*
 * cache - rules by address, in memory of the caller's, without allocation.
 *
 *	static __thread struct unwind_cache_entry entries[1 << 10];
 *	struct unwind_cache cache = { entries, 10 };
 *
 *	if (!unwind_cache_find(&cache, pc, &rule)) {
 *		unwind_cfi_find(&image, pc, &row);
 *		unwind_cache_add(&cache, pc, &row);
 *		rule = row.rule;
 *	}
 *
 * Direct mapped.  An entry holds the whole row, so each address in the row that maps to the same
 * place is a hit; rows of 4 GiB and more are cut.  Zeroed memory is an empty cache.  Clear it when
 * code goes away (dlclose, exec).
 *
 * One thread at a time, but a signal handler of that thread may use it in the middle of any of
 * these functions: an entry that was half written is then a miss, not a wrong rule.
 */
#ifndef UNWIND_CACHE_H
#define UNWIND_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/rule.h"

struct unwind_cache_entry {
	uint64_t check; /* start of the row ^ what */
	uint64_t what;	/* rule << 32 | length; 0 is free */
};

struct unwind_cache {
	struct unwind_cache_entry *entries; /* 2^bits of them */
	unsigned int bits;
};

/*
 * A few shifts, since a walk's next step waits for it: of the offset in the table, in which they
 * save another.
 */
static inline volatile struct unwind_cache_entry *
unwind_cache_slot(const struct unwind_cache *cache, uint64_t pc)
{
	enum { ENTRY_BITS = 4 };
	_Static_assert(sizeof(struct unwind_cache_entry) == 1 << ENTRY_BITS, "size");
	uint64_t offset = (pc << ENTRY_BITS ^ pc >> (7 - ENTRY_BITS)) &
			  ((UINT64_C(1) << cache->bits) - 1) << ENTRY_BITS;

	return (volatile struct unwind_cache_entry *)((char *)cache->entries + offset);
}

static inline bool unwind_cache_find(const struct unwind_cache *cache, uint64_t pc,
				     unwind_rule *rule)
{
	volatile struct unwind_cache_entry *entry = unwind_cache_slot(cache, pc);
	uint64_t what = entry->what, start = entry->check ^ what;

	*rule = (unwind_rule)(what >> 32);
	return pc - start < (uint32_t)what;
}

/* Remembers the row for pc, which must be in it. */
static inline void unwind_cache_add(struct unwind_cache *cache, uint64_t pc,
				    const struct unwind_row *row)
{
	volatile struct unwind_cache_entry *entry = unwind_cache_slot(cache, pc);
	uint64_t start = pc - row->start > INT32_MAX ? pc : row->start;
	uint64_t length = row->end - start > UINT32_MAX ? UINT32_MAX : row->end - start;
	uint64_t what = (uint64_t)row->rule << 32 | length;

	entry->check = start ^ what;
	entry->what = what;
}

static inline void unwind_cache_clear(struct unwind_cache *cache)
{
	for (uint64_t i = 0; i < UINT64_C(1) << cache->bits; i++) {
		volatile struct unwind_cache_entry *entry = &cache->entries[i];

		entry->what = 0;
		entry->check = 0;
	}
}

#endif
