/* SPDX-License-Identifier: MIT */
/*
 * grouping - which hardware events are counted in the same windows.
 *
 * A group is scheduled on the counters as a whole or not at all, so ratios are exact inside one
 * and a group with too many events never counts.  Events come in sets that must not be separated
 * (branches and branch-misses); the first set is the anchor (cycles and instructions) and a part
 * of every group, so that each has rates of its own.  Sets are packed in their order, as many
 * into a group as fit:
 *
 *	anchor {0, 1}, sets {2, 3} {4, 5} {6}, room for 4  ->  {0 1 2 3}, {0 1 4 5}, {0 1 6}
 *
 * A set that does not fit even beside the anchor alone is counted without it, split up if need be
 * and if it is not to stay whole (rates are then scaled values over scaled values).  Without an
 * anchor (its events are not offered) sets are packed alone.
 */
#ifndef STAT_GROUPING_H
#define STAT_GROUPING_H

#include <stdbool.h>
#include <stddef.h>

#define GROUPING_MAX_MEMBERS 16

/* Event numbers, whatever the caller counts. */
struct grouping_set {
	size_t events[GROUPING_MAX_MEMBERS];
	size_t nr;
	bool whole; /* counted together or not at all */
};

struct grouping {
	struct grouping_set *at;
	size_t nr, room;
};

/* Whether a group of these events would be scheduled. */
typedef bool (*grouping_fits)(void *context, const struct grouping_set *group);

/* anchor may be empty.  Adds to groups; each event is in at least one. */
void grouping_make(struct grouping *groups, const struct grouping_set *anchor,
		   const struct grouping_set *sets, size_t nr_sets, grouping_fits fits,
		   void *context);
void grouping_release(struct grouping *groups);

#endif
