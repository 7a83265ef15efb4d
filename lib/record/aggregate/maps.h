/* SPDX-License-Identifier: MIT */
/*
 * maps - an array of maps that grows as it is used.
 *
 *	struct maps by_event = { 0 };
 *	uint64_t *value = map_add(maps_at(&by_event, event), key, &added);
 *	maps_release(&by_event);
 */
#ifndef RECORD_AGGREGATE_MAPS_H
#define RECORD_AGGREGATE_MAPS_H

#include "base/map.h"

struct maps {
	struct map *at;
	size_t nr, room;
};

/* An empty one if it was not used before.  Valid until the next call. */
struct map *maps_at(struct maps *maps, size_t number);
void maps_release(struct maps *maps);

#endif
