/* SPDX-License-Identifier: MIT */
/*
 * stacks - allocation sites with their whole stacks, for the views that are about them.
 */
#ifndef REPORT_VIEW_STACKS_H
#define REPORT_VIEW_STACKS_H

#include "report/view/page.h"

/* Of the first nr sites, what they held at the peak. */
void stacks_at_peak(struct page *page, const struct rows *sites, size_t nr);
/* Of the first nr sites, what they did not free. */
void stacks_live(struct page *page, const struct rows *sites, size_t nr);

#endif
