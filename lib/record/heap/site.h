/* SPDX-License-Identifier: MIT */
/*
 * site - a place that allocates: what it holds, and what became of its blocks.
 *
 *	id = sites_add(&sites, image, older);
 *	site = &sites.at[id];
 *
 *	site_keep(&sites, id, &image->peak, &tree_peak);	// before each change
 *	site_get(site, size, slack);				// it has one block more
 *	site_give(site, size, slack);				// ... one less
 *	site_note_free(site, lifetime_ns, class, size);		// ... because it was freed
 *
 * At tens of millions of events a second memory is what costs.  So an allocation changes one cache
 * line of its site, and a free that and another one.  Most sites allocate blocks of one size, which
 * is in no histogram: its number is what is left of the sum.
 */
#ifndef RECORD_HEAP_SITE_H
#define RECORD_HEAP_SITE_H

#include <stddef.h>
#include <stdint.h>

#include "record/heap/histogram.h"
#include "record/heap/peak.h"
#include "store/classes.h"

#define SITE_NO_SIZE UINT64_MAX

struct site {
	uint64_t live_bytes, live_blocks, live_slack;
	uint64_t allocations; /* and reallocations */
	uint64_t allocated_bytes;
	uint64_t main_size;
	uint32_t epoch_in_image, epoch_in_tree; /* of what site_past has */
	uint32_t image;
	uint32_t older; /* the image's site before this one, + 1 */

	struct histogram other_sizes;
	uint64_t freed_bytes; /* also by reallocations */
	uint64_t lifetime_ns;
	uint64_t temporary;
	uint64_t lifetimes[LIFETIME_CLASSES]; /* frees */
	uint64_t cross_thread_frees;
};

_Static_assert(offsetof(struct site, other_sizes) == 64 && sizeof(struct site) <= 192,
	       "cache lines");

/* What changes seldom. */
struct site_past {
	struct peak_part in_image, in_tree; /* at the maximum that began the epoch */
	uint64_t reallocations, moved, copied_bytes;
	uint64_t page_faults;
};

struct sites {
	struct site *at; /* aligned to cache lines */
	struct site_past *past;
	size_t nr, room;
	struct {
		uint32_t *at;
		size_t nr, room;
	} free;
};

void sites_release(struct sites *sites);
uint32_t sites_add(struct sites *sites, uint32_t image, uint32_t older);
/* Its id is given out again. */
void sites_remove(struct sites *sites, uint32_t id);

static inline struct peak_part site_now(const struct site *site)
{
	return (struct peak_part){ site->live_bytes, site->live_blocks, site->live_slack };
}

/* Before it changes, and after the peaks did. */
static inline void site_keep(struct sites *sites, uint32_t id, const struct peak *in_image,
			     const struct peak *in_tree)
{
	struct site *site = &sites->at[id];

	if (peak_is_new(in_image, &site->epoch_in_image))
		sites->past[id].in_image = site_now(site);
	if (peak_is_new(in_tree, &site->epoch_in_tree))
		sites->past[id].in_tree = site_now(site);
}

static inline void site_note_size(struct site *site, uint64_t size)
{
	if (size == site->main_size)
		return;
	if (site->main_size == SITE_NO_SIZE)
		site->main_size = size;
	else
		histogram_add(&site->other_sizes, size_class(size));
}

/* It has a block more, by an allocation or a reallocation. */
static inline void site_get(struct site *site, uint64_t size, uint64_t slack)
{
	site->live_bytes += size;
	site->live_blocks++;
	site->live_slack += slack;
	site->allocations++;
	site->allocated_bytes += size;
	site_note_size(site, size);
}

/* It has one less. */
static inline void site_give(struct site *site, uint64_t size, uint64_t slack)
{
	site->live_bytes -= size;
	site->live_blocks--;
	site->live_slack -= slack;
}

static inline void site_note_free(struct site *site, uint64_t lifetime_ns, unsigned int class,
				  uint64_t size)
{
	site->lifetimes[class]++;
	site->lifetime_ns += lifetime_ns;
	site->freed_bytes += size;
}

uint64_t site_frees(const struct site *site);
/* Adds the requests for blocks by the classes of store/classes.h. */
void site_add_sizes(const struct site *site, uint64_t *sum);

#endif
