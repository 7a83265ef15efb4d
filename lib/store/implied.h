/* SPDX-License-Identifier: MIT */
/*
 * implied - the histograms of a site that need not be in the file.
 *
 *	row = *site;
 *	implied_leave_out(&row);		// before it is written
 *	implied_fill_in(&row, &arena);		// after it was read
 *
 * Most sites allocate blocks of one class of sizes, many only one block, and there may be millions of
 * sites: such a histogram is one class, that of the mean, with all blocks, and is NULL in the file.
 */
#ifndef STORE_IMPLIED_H
#define STORE_IMPLIED_H

#include "base/arena.h"
#include "store/profile.h"

/* The number of classes of a histogram that is implied. */
#define HISTOGRAM_IMPLIED SIZE_MAX

void implied_leave_out(struct profile_heap_site *site);
void implied_fill_in(struct profile_heap_site *site, struct arena *arena);

#endif
