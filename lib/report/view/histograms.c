/* SPDX-License-Identifier: MIT */
#include "report/view/histograms.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/units.h"
#include "report/analyze/heap.h"

#define SHARE_MIN 0.005
#define OTHER_MIN 0.001
#define SMALLEST_SIZE 16

struct range_text {
	char text[48];
};

/* "up to 16 B", "17-32 B", "0.5-1 KiB", "32-64 KiB": more than the first number. */
static struct range_text size_range(uint64_t most_bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	struct range_text range;
	double most = (double)most_bytes;
	size_t unit = 0;

	for (; most >= 1024 && unit + 1 < ARRAY_SIZE(units); unit++)
		most /= 1024;
	if (most_bytes <= SMALLEST_SIZE)
		snprintf(range.text, sizeof(range.text), "up to %g B", most);
	else
		snprintf(range.text, sizeof(range.text), "%g-%g %s", most / 2 + (unit ? 0 : 1),
			 most, units[unit]);
	return range;
}

/* "under 1 us", "10-100 us", "0.1-1 s", "100 s or more". */
static struct range_text age_range(const struct figure *below_s)
{
	double us = below_s->value * 1e6;
	struct range_text range;

	if (below_s->absent)
		snprintf(range.text, sizeof(range.text), "100 s or more");
	else if (us <= 1)
		snprintf(range.text, sizeof(range.text), "under 1 us");
	else if (us <= 1e2)
		snprintf(range.text, sizeof(range.text), "%g-%g us", us / 10, us);
	else if (us <= 1e5)
		snprintf(range.text, sizeof(range.text), "%g-%g ms", us / 1e4, us / 1e3);
	else
		snprintf(range.text, sizeof(range.text), "%g-%g s", us / 1e7, us / 1e6);
	return range;
}

/* A phrase, or to be part of the last one.  Returns what the next one begins with. */
static const char *say_class(struct page *page, const char *before, const char *range, double share,
			     double *other)
{
	if (share < SHARE_MIN) {
		*other += share;
		return before;
	}
	page_phrase(page, "%s%s %s", before, range, units_percent(share).text);
	return "";
}

static void say_other(struct page *page, double other)
{
	if (other >= OTHER_MIN)
		page_phrase(page, "other %s", units_percent(other).text);
}

void histograms_sizes(struct page *page, const char *before, const struct rows *sizes)
{
	double other = 0;

	for (size_t i = 0; i < sizes->nr; i++) {
		const struct heap_size *size = sizes->at[i];

		before = say_class(page, before, size_range(size->most_bytes).text, size->share,
				   &other);
	}
	say_other(page, other);
}

void histograms_ages(struct page *page, const char *before, const struct rows *ages)
{
	double other = 0;

	for (size_t i = 0; i < ages->nr; i++) {
		const struct heap_age *age = ages->at[i];

		before = say_class(page, before, age_range(&age->below_s).text, age->share, &other);
	}
	say_other(page, other);
}
