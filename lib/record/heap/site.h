/* SPDX-License-Identifier: MIT */
/*
 * site - a place that allocates: what it holds, and what became of its blocks.
 *
 *	id = sites_add(&sites, image, older);
 *	site = &sites.at[id];
 *
 *	site_keep(&sites, id, epochs, page_bytes);		// before each change
 *	site_get(site, address, size, page_bytes);	// it has one block more
 *	site_give(site, address, size, page_bytes);	// ... one less
 *
 * At tens of millions of events a second memory and instructions are what costs.  So an allocation
 * changes one cache line of its site, and a free that and another one.  Most sites allocate blocks of
 * one size, which are in no histogram and whose slack nobody adds up: what is said of them is what
 * is left of the site's sums.
 */
#ifndef RECORD_HEAP_SITE_H
#define RECORD_HEAP_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/stretch.h"
#include "record/heap/histogram.h"
#include "record/heap/peak.h"
#include "record/heap/slack.h"
#include "store/classes.h"

#define SITE_NO_SIZE UINT64_MAX

struct site {
	uint64_t got_blocks, got_bytes; /* by allocations and reallocations */
	uint64_t gone_blocks, gone_bytes;
	uint64_t main_size; /* of its first block */
	uint64_t epochs;    /* of what site_past has */
	uint64_t lifetime_ns;
	uint32_t image;
	uint32_t older; /* the image's site before this one, + 1 */

	uint64_t temporary;
	uint64_t lifetimes[LIFETIME_CLASSES]; /* frees */
	struct histogram other_sizes;
	uint64_t other_blocks, other_slack; /* live ones of other sizes */
	uint64_t cross_thread_frees;
};

_Static_assert(offsetof(struct site, temporary) == 64 && sizeof(struct site) == 192, "cache lines");

/* What changes seldom. */
struct site_past {
	struct peak_part in_image, in_tree; /* at the maximum that began the epoch */
	uint64_t reallocations, moved, copied_bytes;
	uint64_t reallocated_away; /* bytes that a reallocation elsewhere gave up */
	uint64_t reallocated_here; /* ... that one here did: freed here */
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
	struct stretch stretch, stretch_of_past;
};

void sites_release(struct sites *sites);
uint32_t sites_add(struct sites *sites, uint32_t image, uint32_t older);
/* Its id is given out again. */
void sites_remove(struct sites *sites, uint32_t id);

/* Of the image and of the tree, in one number. */
static inline uint64_t site_epochs(const struct peak *in_image, const struct peak *in_tree)
{
	return (uint64_t)in_tree->epoch << 32 | in_image->epoch;
}

/* Whether a block's slack depends on its size alone. */
static inline bool site_can_be_main(uint64_t size)
{
	return slack_chunk(size) < SLACK_MAPPED_MIN;
}

/* The epochs are others than those of what was kept. */
void site_keep_now(struct sites *sites, uint32_t id, uint64_t epochs, uint64_t glibc_page);

/* Before it changes, and after the peaks did. */
static inline void site_keep(struct sites *sites, uint32_t id, uint64_t epochs, uint64_t glibc_page)
{
	if (sites->at[id].epochs != epochs)
		site_keep_now(sites, id, epochs, glibc_page);
}

/* A block is not of the main size. */
void site_get_other(struct site *site, uint64_t address, uint64_t size, uint64_t glibc_page);

/* It has a block more, by an allocation or a reallocation. */
static inline void site_get(struct site *site, uint64_t address, uint64_t size, uint64_t glibc_page)
{
	site->got_blocks++;
	site->got_bytes += size;
	if (size != site->main_size)
		site_get_other(site, address, size, glibc_page);
}

/* It has one less. */
static inline void site_give(struct site *site, uint64_t address, uint64_t size,
			     uint64_t glibc_page)
{
	site->gone_blocks++;
	site->gone_bytes += size;
	if (size == site->main_size)
		return;
	site->other_blocks--;
	site->other_slack -= slack_of(glibc_page, address, size);
}

/* What it holds. */
struct peak_part site_now(const struct site *site, uint64_t glibc_page);
uint64_t site_frees(const struct site *site);
/* Adds the requests for blocks by the classes of store/classes.h; slack is as glibc_page says. */
void site_add_sizes(const struct site *site, uint64_t glibc_page, struct histogram_sum *sums);

#endif
