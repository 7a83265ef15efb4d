/* SPDX-License-Identifier: MIT */
#include "record/moments.h"

#define WIDTH_US 1000

void moments_release(struct moments *moments)
{
	vec_free(&moments->points);
}

static bool is_together(const struct moments *moments, const struct profile_memory *a,
			const struct profile_memory *b)
{
	return a->time_us / moments->width_us == b->time_us / moments->width_us;
}

/* The maximum is that of the later one. */
static void merge(struct profile_memory *kept, const struct profile_memory *next)
{
	uint64_t peak_rss_bytes = next->peak_rss_bytes;

	if (profile_rss_bytes(next) > profile_rss_bytes(kept))
		*kept = *next;
	kept->peak_rss_bytes = peak_rss_bytes;
}

static void double_width(struct moments *moments)
{
	struct profile_memory *points = moments->points.at;
	size_t nr = 0;

	moments->width_us *= 2;
	for (size_t i = 0; i < moments->points.nr; i++)
		if (nr && is_together(moments, &points[nr - 1], &points[i]))
			merge(&points[nr - 1], &points[i]);
		else
			points[nr++] = points[i];
	moments->points.nr = nr;
	moments->merged = true;
}

void moments_add(struct moments *moments, const struct profile_memory *memory)
{
	if (!moments->width_us)
		moments->width_us = WIDTH_US;
	while (moments->points.nr >= MOMENTS_KEPT)
		double_width(moments);
	if (moments->points.nr && is_together(moments, vec_last(&moments->points), memory))
		merge(vec_last(&moments->points), memory);
	else
		vec_push(&moments->points, *memory);
}

struct moments_taken moments_take(struct moments *moments, bool at_last)
{
	size_t from = moments->merged ? 0 : moments->nr_taken, nr = moments->points.nr;
	struct moments_taken taken = { .whole = moments->merged };

	if (nr && !at_last)
		nr--;
	if (from >= nr)
		return (struct moments_taken){ 0 };
	moments->nr_taken = nr;
	moments->merged = false;
	taken.at = moments->points.at + from;
	taken.nr = nr - from;
	return taken;
}
