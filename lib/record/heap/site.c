/* SPDX-License-Identifier: MIT */
#include "record/heap/site.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

#define CACHE_LINE 64
#define ROOM_MIN 64

void sites_release(struct sites *sites)
{
	vec_each(sites, site) histogram_release(&site->other_sizes);
	free(sites->at);
	free(sites->past);
	vec_free(&sites->free);
	*sites = (struct sites){ 0 };
}

static void sites_grow(struct sites *sites)
{
	size_t room = sites->room ? sites->room * 2 : ROOM_MIN;
	void *at;

	if (posix_memalign(&at, CACHE_LINE, room * sizeof(struct site)))
		at = xcalloc(SIZE_MAX / 2, 1); /* out of memory, said there */
	if (sites->nr)
		memcpy(at, sites->at, sites->nr * sizeof(struct site));
	free(sites->at);
	sites->at = at;
	sites->past = xreallocarray(sites->past, room, sizeof(sites->past[0]));
	sites->room = room;
}

uint32_t sites_add(struct sites *sites, uint32_t image, uint32_t older)
{
	uint32_t id;

	if (sites->free.nr) {
		id = sites->free.at[--sites->free.nr];
	} else {
		if (sites->nr == sites->room)
			sites_grow(sites);
		id = (uint32_t)sites->nr++;
	}
	sites->at[id] = (struct site){ .image = image, .older = older, .main_size = SITE_NO_SIZE };
	sites->past[id] = (struct site_past){ 0 };
	return id;
}

void sites_remove(struct sites *sites, uint32_t id)
{
	histogram_release(&sites->at[id].other_sizes);
	vec_push(&sites->free, id);
}

uint64_t site_frees(const struct site *site)
{
	uint64_t frees = 0;

	for (size_t i = 0; i < LIFETIME_CLASSES; i++)
		frees += site->lifetimes[i];
	return frees;
}

void site_add_sizes(const struct site *site, uint64_t *sum)
{
	uint64_t others = histogram_sum(&site->other_sizes, sum);

	if (site->allocations > others)
		sum[size_class(site->main_size)] += site->allocations - others;
}
