/* SPDX-License-Identifier: MIT */
/*
 * map - 64-bit key to 64-bit value, open addressing.
 *
 *	struct map m = { 0 };
 *	map_set(&m, key, 7);
 *	uint64_t *value = map_find(&m, key);	// NULL if absent; valid until the next change
 *	map_release(&m);
 *
 * A zeroed struct is an empty map.  All keys are legal.  Iterate with map_each().
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct map {
	struct map_entry *at;
	size_t nr, room; /* room is a power of two */
};

void map_release(struct map *map);
/* Where it is not first in its place. */
uint64_t *map_find_further(const struct map *map, uint64_t key);
/* The value's place; a new one is 0 and *added (may be NULL) says so. */
uint64_t *map_add(struct map *map, uint64_t key, bool *added);
void map_set(struct map *map, uint64_t key, uint64_t value);
bool map_remove(struct map *map, uint64_t key);

/* Two 32-bit numbers as one key. */
static inline uint64_t map_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* A 64-bit mixer, good enough for pointers and small integers alike. */
static inline uint64_t map_hash(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ (x >> 32);
}

static inline uint64_t *map_find(const struct map *map, uint64_t key)
{
	if (!map->room)
		return NULL;

	struct map_entry *entry = &map->at[map_hash(key) & (map->room - 1)];

	if (entry->used && entry->key == key)
		return &entry->value;
	return map_find_further(map, key);
}

#define map_each(map, entry)                                                                \
	for (struct map_entry *entry = (map)->at; entry && entry < (map)->at + (map)->room; \
	     entry++)                                                                       \
		if (entry->used)

#endif
