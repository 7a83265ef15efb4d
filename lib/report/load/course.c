/* SPDX-License-Identifier: MIT */
#include "report/load/course.h"

/* The rows are sorted by process, the tree first; both kinds begin with it. */
static uint32_t process_at(const void *rows, size_t size, size_t i)
{
	return *(const uint32_t *)((const char *)rows + i * size) + 1;
}

/* The first row of this place in the order, or of one after it. */
static size_t lower_bound(const void *rows, size_t size, size_t nr, uint64_t place)
{
	size_t from = 0, to = nr;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (process_at(rows, size, middle) < place)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static struct course course_of(const void *rows, size_t size, size_t nr, uint32_t process)
{
	uint64_t place = (uint32_t)(process + 1);

	return (struct course){ lower_bound(rows, size, nr, place),
				lower_bound(rows, size, nr, place + 1) };
}

_Static_assert(!offsetof(struct profile_slice, process), "it is looked for there");
_Static_assert(!offsetof(struct profile_memory, process), "it is looked for there");

struct course course_of_slices(const struct profile *profile, uint32_t process)
{
	return course_of(profile->slices, sizeof(profile->slices[0]), profile->nr_slices, process);
}

struct course course_of_memory(const struct profile *profile, uint32_t process)
{
	return course_of(profile->memory, sizeof(profile->memory[0]), profile->nr_memory, process);
}
