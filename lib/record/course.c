/* SPDX-License-Identifier: MIT */
#include "record/course.h"

#define WIDTH_US 1000

void course_release(struct course *course)
{
	vec_free(&course->points);
}

static uint64_t rss(const struct profile_memory *memory)
{
	return memory->anonymous_bytes + memory->file_bytes + memory->shared_bytes;
}

static bool is_together(const struct course *course, const struct profile_memory *a,
			const struct profile_memory *b)
{
	return a->time_us / course->width_us == b->time_us / course->width_us;
}

/* The maximum is that of the later one. */
static void merge(struct profile_memory *kept, const struct profile_memory *next)
{
	uint64_t peak_rss_bytes = next->peak_rss_bytes;

	if (rss(next) > rss(kept))
		*kept = *next;
	kept->peak_rss_bytes = peak_rss_bytes;
}

static void double_width(struct course *course)
{
	struct profile_memory *points = course->points.at;
	size_t nr = 0;

	course->width_us *= 2;
	for (size_t i = 0; i < course->points.nr; i++)
		if (nr && is_together(course, &points[nr - 1], &points[i]))
			merge(&points[nr - 1], &points[i]);
		else
			points[nr++] = points[i];
	course->points.nr = nr;
	course->merged = true;
}

void course_add(struct course *course, const struct profile_memory *memory)
{
	if (!course->width_us)
		course->width_us = WIDTH_US;
	while (course->points.nr >= COURSE_POINTS)
		double_width(course);
	if (course->points.nr && is_together(course, vec_last(&course->points), memory))
		merge(vec_last(&course->points), memory);
	else
		vec_push(&course->points, *memory);
}

struct course_points course_take(struct course *course, bool at_last)
{
	size_t from = course->merged ? 0 : course->nr_taken, nr = course->points.nr;
	struct course_points taken = { .whole = course->merged };

	if (nr && !at_last)
		nr--;
	if (from >= nr)
		return (struct course_points){ 0 };
	course->nr_taken = nr;
	course->merged = false;
	taken.at = course->points.at + from;
	taken.nr = nr - from;
	return taken;
}
