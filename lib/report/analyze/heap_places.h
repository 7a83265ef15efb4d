/* SPDX-License-Identifier: MIT */
/*
 * heap_places - the stacks of allocation sites as lists of (name, file, line).
 *
 *	heap_places_init(&places, chains);
 *	list = heap_places_of_stack(&places, stack, PROFILE_MALLOC, &nr);	// ids, root first
 *	use(heap_places_get(&places, list[0])->name);
 *	heap_places_release(&places);
 *
 * A list starts at the first frame after libc's start code: at main, at the function of a thread,
 * at a constructor.  Start code without names (a stripped libc) is known by the module it is in.
 * It ends with the allocation function.
 */
#ifndef REPORT_ANALYZE_HEAP_PLACES_H
#define REPORT_ANALYZE_HEAP_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/analyze/chains.h"

struct heap_place {
	const char *name, *module, *file;
	uint32_t line;
	bool inlined;
};

struct heap_places {
	const struct chains *chains;
	struct heap_place *at; /* by id */
	bool *libc;	       /* by module id: part of the C library */
	struct {
		const struct frame **at;
		size_t nr, room;
	} frames;
	struct {
		uint32_t *at;
		size_t nr, room;
	} list;
};

void heap_places_init(struct heap_places *places, const struct chains *chains);
void heap_places_release(struct heap_places *places);

/* Equal lists are equal places.  Valid until the next call. */
const uint32_t *heap_places_of_stack(struct heap_places *places, uint32_t stack,
				     enum profile_allocator allocator, size_t *nr);
/*
 * The function that a stack starts at, PROFILE_NONE where that is not on it.  Of a thread, it is
 * below what the libraries of C++ and Rust start it with.
 */
uint32_t heap_places_start(struct heap_places *places, uint32_t stack);
const struct heap_place *heap_places_get(const struct heap_places *places, uint32_t id);

#endif
