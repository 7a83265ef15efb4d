/* SPDX-License-Identifier: MIT */
#include "report/view/histograms.h"

#include "base/units.h"
#include "report/analyze/heap.h"

#define SHARE_MIN 0.005

void histograms_sizes(struct page *page, const char *before, const struct rows *sizes)
{
	for (size_t i = 0; i < sizes->nr; i++) {
		const struct heap_size *size = sizes->at[i];

		if (size->share < SHARE_MIN)
			continue;
		page_phrase(page, "%s%s %s", before, units_size(size->most_bytes).text,
			    units_percent(size->share).text);
		before = "";
	}
}

void histograms_ages(struct page *page, const char *before, const struct rows *ages)
{
	for (size_t i = 0; i < ages->nr; i++) {
		const struct heap_age *age = ages->at[i];
		struct units_text part = units_percent(age->share);

		if (age->share < SHARE_MIN)
			continue;
		if (age->below_s.absent)
			page_phrase(page, "%slonger %s", before, part.text);
		else
			page_phrase(page, "%s< %s %s", before,
				    units_seconds(age->below_s.value).text, part.text);
		before = "";
	}
}
