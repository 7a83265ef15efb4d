/* SPDX-License-Identifier: MIT */
/*
 * heap_classes - how many blocks there were of which size, and of which lifetime.
 *
 *	struct heap_classes classes = { 0 };
 *
 *	heap_classes_add(&classes, &site->lifetimes);		// any number of them
 *	heap_classes_ages(&classes, &arena, &rows);		// of struct heap_age
 *	heap_classes_release(&classes);
 *
 * The rows and what they point to are in the arena.
 */
#ifndef REPORT_ANALYZE_HEAP_CLASSES_H
#define REPORT_ANALYZE_HEAP_CLASSES_H

#include <stdint.h>

#include "base/arena.h"
#include "report/analyze/rows.h"
#include "store/reader.h"

/* Blocks asked for, by allocations and reallocations. */
struct heap_size {
	uint64_t most_bytes; /* each; and more than the next smaller ones */
	uint64_t blocks;
	double share; /* of all blocks */

	/* Not of the sizes of a site: */
	uint64_t bytes;
	struct figure slack_bytes; /* the allocator made them larger by so much */
	struct figure slack_share; /* of these bytes */
};

/* Blocks that were freed. */
struct heap_age {
	struct figure below_s; /* and at least a tenth of it; absent: longer than all others */
	uint64_t blocks;
	double share;
};

/* Sorted by the bound. */
struct heap_classes {
	struct profile_class *at;
	size_t nr, room;
};

/* The blocks of the class with this bound, 0 if there were none.  Valid until the next call. */
uint64_t *heap_classes_at(struct heap_classes *classes, uint64_t bound);
void heap_classes_add(struct heap_classes *classes, const struct profile_histogram *histogram);
void heap_classes_sizes(const struct heap_classes *classes, struct arena *arena, struct rows *rows);
void heap_classes_ages(const struct heap_classes *classes, struct arena *arena, struct rows *rows);
void heap_classes_release(struct heap_classes *classes);

#endif
