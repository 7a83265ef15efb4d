/* SPDX-License-Identifier: MIT */
#include "report/analyze/heap_classes.h"

#include <string.h>

#include "base/vec.h"

void heap_classes_release(struct heap_classes *classes)
{
	vec_free(classes);
}

uint64_t *heap_classes_at(struct heap_classes *classes, uint64_t bound)
{
	size_t i = 0;

	while (i < classes->nr && classes->at[i].bound < bound)
		i++;
	if (i == classes->nr || classes->at[i].bound != bound) {
		vec_add(classes);
		memmove(&classes->at[i + 1], &classes->at[i],
			(classes->nr - 1 - i) * sizeof(classes->at[0]));
		classes->at[i] = (struct profile_class){ .bound = bound };
	}
	return &classes->at[i].blocks;
}

void heap_classes_add(struct heap_classes *classes, const struct profile_histogram *histogram)
{
	for (size_t i = 0; i < histogram->nr; i++)
		*heap_classes_at(classes, histogram->at[i].bound) += histogram->at[i].blocks;
}

static double share(const struct heap_classes *classes, size_t i)
{
	uint64_t all = 0;

	vec_each(classes, class) all += class->blocks;
	return all ? (double)classes->at[i].blocks / (double)all : 0;
}

static const void **make_rows(const struct heap_classes *classes, struct arena *arena,
			      struct rows *rows)
{
	rows->at = arena_alloc(arena, (classes->nr + 1) * sizeof(rows->at[0]));
	rows->nr = rows->room = classes->nr;
	return rows->at;
}

void heap_classes_sizes(const struct heap_classes *classes, struct arena *arena, struct rows *rows)
{
	const void **at = make_rows(classes, arena, rows);
	struct heap_size *size = arena_alloc(arena, (classes->nr + 1) * sizeof(*size));

	for (size_t i = 0; i < classes->nr; i++, size++) {
		*size = (struct heap_size){ .most_bytes = classes->at[i].bound,
					    .blocks = classes->at[i].blocks,
					    .share = share(classes, i) };
		at[i] = size;
	}
}

static struct figure seconds(uint64_t below_us)
{
	return below_us == UINT64_MAX ? FIGURE_ABSENT("no bound") : FIGURE((double)below_us / 1e6);
}

void heap_classes_ages(const struct heap_classes *classes, struct arena *arena, struct rows *rows)
{
	const void **at = make_rows(classes, arena, rows);
	struct heap_age *age = arena_alloc(arena, (classes->nr + 1) * sizeof(*age));

	for (size_t i = 0; i < classes->nr; i++, age++) {
		*age = (struct heap_age){ .below_s = seconds(classes->at[i].bound),
					  .blocks = classes->at[i].blocks,
					  .share = share(classes, i) };
		at[i] = age;
	}
}
