/* SPDX-License-Identifier: MIT */
/*
 * histograms - sizes and lifetimes of blocks as phrases of a line.
 *
 *	histograms_ages(page, "lived ", &heap->lifetimes);	// lived under 1 us 5 % . 1-10 us 95 %
 *
 * Classes with less than half a percent of the blocks are one phrase, "other 0.7 %".
 */
#ifndef REPORT_VIEW_HISTOGRAMS_H
#define REPORT_VIEW_HISTOGRAMS_H

#include "report/view/page.h"

/* Of struct heap_size and struct heap_age. */
void histograms_sizes(struct page *page, const char *before, const struct rows *sizes);
void histograms_ages(struct page *page, const char *before, const struct rows *ages);

#endif
