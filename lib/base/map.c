/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <stdlib.h>

#include "base/alloc.h"

void map_release(struct map *map)
{
	free(map->at);
	*map = (struct map){ 0 };
}

static size_t slot_of(const struct map *map, uint64_t key)
{
	size_t i = map_hash(key) & (map->room - 1);

	while (map->at[i].used && map->at[i].key != key)
		i = (i + 1) & (map->room - 1);
	return i;
}

static void grow(struct map *map)
{
	struct map bigger = { .nr = map->nr, .room = map->room ? map->room * 2 : 16 };

	bigger.at = xcalloc(bigger.room, sizeof(bigger.at[0]));
	map_each(map, entry) bigger.at[slot_of(&bigger, entry->key)] = *entry;
	free(map->at);
	*map = bigger;
}

uint64_t *map_find_further(const struct map *map, uint64_t key)
{
	struct map_entry *entry = &map->at[slot_of(map, key)];

	return entry->used ? &entry->value : NULL;
}

uint64_t *map_add(struct map *map, uint64_t key, bool *added)
{
	if (map->nr * 4 >= map->room * 3)
		grow(map);

	struct map_entry *entry = &map->at[slot_of(map, key)];

	if (added)
		*added = !entry->used;
	if (!entry->used) {
		*entry = (struct map_entry){ .key = key, .used = true };
		map->nr++;
	}
	return &entry->value;
}

void map_set(struct map *map, uint64_t key, uint64_t value)
{
	*map_add(map, key, NULL) = value;
}

/* Backward shift, so that no tombstones slow later look-ups down (Knuth 6.4, algorithm R). */
bool map_remove(struct map *map, uint64_t key)
{
	if (!map_find(map, key))
		return false;

	size_t mask = map->room - 1, hole = slot_of(map, key);

	for (size_t i = (hole + 1) & mask; map->at[i].used; i = (i + 1) & mask) {
		size_t home = map_hash(map->at[i].key) & mask;

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->at[hole] = map->at[i];
			hole = i;
		}
	}
	map->at[hole].used = false;
	map->nr--;
	return true;
}
