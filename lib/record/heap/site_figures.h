/* SPDX-License-Identifier: MIT */
/*
 * site_figures - sums of the figures of sites, of a sample too.
 *
 *	site_figures_scale(&figures, weight);	// of a sample: parts of what its blocks stand for
 *	site_figures_add(&sum, &figures);
 *	if (site_figures_checksum(&sum) != before)
 *		site_figures_round(&sum);	// of a sample: parts to whole numbers
 *
 * Of a field that is new, the list in site_figures.c says what it counts.
 */
#ifndef RECORD_HEAP_SITE_FIGURES_H
#define RECORD_HEAP_SITE_FIGURES_H

#include <stdint.h>

#include "store/profile.h"

/* All but whose they are, and the histograms. */
void site_figures_add(struct profile_heap_site *sum, const struct profile_heap_site *figures);

/* weight: of each block, see worth.h. */
void site_figures_scale(struct profile_heap_site *figures, uint64_t weight);
void site_figures_round(struct profile_heap_site *figures);

/* Another one when a figure is; never 0. */
uint64_t site_figures_checksum(const struct profile_heap_site *figures);

#endif
