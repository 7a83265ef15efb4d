/* SPDX-License-Identifier: MIT */
#include "record/aggregate/maps.h"

#include "base/vec.h"

struct map *maps_at(struct maps *maps, size_t number)
{
	while (maps->nr <= number)
		vec_push(maps, (struct map){ 0 });
	return &maps->at[number];
}

void maps_release(struct maps *maps)
{
	vec_each(maps, map) map_release(map);
	vec_free(maps);
}
