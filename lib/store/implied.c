/* SPDX-License-Identifier: MIT */
#include "store/implied.h"

#include <stdbool.h>

#include "store/classes.h"

static struct profile_class size_of_all(const struct profile_heap_site *site)
{
	uint64_t blocks = site->allocations + site->reallocations;
	unsigned int class = blocks ? size_class(site->allocated_bytes / blocks) : 0;

	class = class < SIZE_CLASSES ? class : SIZE_CLASSES - 1;
	return (struct profile_class){ size_class_most(class), blocks };
}

static struct profile_class lifetime_of_all(const struct profile_heap_site *site)
{
	uint64_t blocks = site->lifetime_blocks, ns;

	if (!blocks || __builtin_mul_overflow(site->lifetime_us / blocks, 1000, &ns))
		ns = INT64_MAX;
	return (struct profile_class){ lifetime_class_below_us(lifetime_class(ns)), blocks };
}

static bool is_all(const struct profile_histogram *histogram, struct profile_class class)
{
	if (!class.blocks)
		return !histogram->nr;
	return histogram->nr == 1 && histogram->at[0].bound == class.bound &&
	       histogram->at[0].blocks == class.blocks;
}

static void leave_out(struct profile_histogram *histogram, struct profile_class class)
{
	if (is_all(histogram, class))
		*histogram = (struct profile_histogram){ NULL, HISTOGRAM_IMPLIED };
}

void implied_leave_out(struct profile_heap_site *site)
{
	leave_out(&site->sizes, size_of_all(site));
	leave_out(&site->lifetimes, lifetime_of_all(site));
}

static void fill_in(struct profile_histogram *histogram, struct profile_class class,
		    struct arena *arena)
{
	struct profile_class *at;

	if (histogram->nr != HISTOGRAM_IMPLIED)
		return;
	*histogram = (struct profile_histogram){ 0 };
	if (!class.blocks)
		return;
	at = arena_alloc(arena, sizeof(*at));
	*at = class;
	*histogram = (struct profile_histogram){ at, 1 };
}

void implied_fill_in(struct profile_heap_site *site, struct arena *arena)
{
	fill_in(&site->sizes, size_of_all(site), arena);
	fill_in(&site->lifetimes, lifetime_of_all(site), arena);
}
