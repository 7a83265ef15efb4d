/* SPDX-License-Identifier: MIT */
/*
 * heap_oracle - brute force for the heap model: keeps a list of blocks, adds everything up anew
 * after each event, and copies all of it whenever the sum is at least what it ever was.
 *
 *	oracle_apply(&oracle, &event);
 *	oracle_end(&oracle, image, time_ns);
 *	use(oracle.peak.bytes);
 */
#ifndef TESTS_HEAP_ORACLE_H
#define TESTS_HEAP_ORACLE_H

#include <stdbool.h>
#include <string.h>

#include "record/heap/model.h"
#include "store/classes.h"

enum { IMAGES = 4, SITES = 24, LANES = 20, THREADS = 16, EVENTS = 400, BLOCKS = 128 };

struct oracle_block {
	bool live, inflight;
	int image, site, thread;
	uint64_t address, size, born_ns;
	long made_by; /* the operation */
};

struct oracle_moment {
	uint64_t bytes, blocks, time_ns;
	uint64_t site_bytes[SITES], site_blocks[SITES], site_slack[SITES];
};

struct oracle_site {
	int image;
	uint64_t allocations, frees, reallocations, allocated, freed, temporary, lifetime_ns;
	uint64_t handed, moved, copied;
	uint64_t sizes[SIZE_CLASSES], lifetimes[LIFETIME_CLASSES];
};

struct oracle_image {
	bool ended;
	uint64_t unknown_frees, changed_ns;
	uint64_t churn_bytes[4], churn_blocks[4];
	struct histogram_sum sizes[SIZE_CLASSES];
	bool is_glibc;
	struct oracle_moment peak;
};

struct oracle_thread {
	uint64_t allocations, frees, reallocations, allocated, freed, temporary;
	uint64_t handed[THREADS], handed_bytes[THREADS]; /* by who allocated it */
};

struct oracle {
	struct oracle_thread thread[THREADS];
	struct oracle_block block[BLOCKS];
	struct oracle_site site[SITES];
	struct oracle_image image[IMAGES];
	struct oracle_moment peak;
	uint64_t changed_ns;
	int lane_image[LANES], lane_thread[LANES], lane_block[LANES]; /* -1: unknown */
	long operations, last_operation[THREADS];
};

static bool oracle_is_mapped(uint64_t address, uint64_t size)
{
	return size > 131048 && address % 4096 == 16;
}

/* Blocks of 24, 40, 56 ... bytes; in pages of their own as many as such a block fits into. */
static uint64_t oracle_slack(const struct oracle *o, int image, uint64_t address, uint64_t size)
{
	uint64_t usable = 24, pages = 4096 - 16;

	if (!o->image[image].is_glibc)
		return 0;
	while (usable < size)
		usable += 16;
	while (pages < usable)
		pages += 4096;
	return (oracle_is_mapped(address, size) ? pages : usable) - size;
}

static void oracle_ask(struct oracle *o, int image, int site, uint64_t address, uint64_t size)
{
	struct histogram_sum *class;
	int i = 0;

	while (size > UINT64_C(16) << i)
		i++;
	o->site[site].sizes[i]++;
	class = &o->image[image].sizes[i];
	class->blocks++;
	class->bytes += size;
	class->slack_bytes += oracle_slack(o, image, address, size);
}

static int oracle_lifetime(uint64_t ns)
{
	uint64_t below = 1000;
	int i = 0;

	for (; ns >= below && i < LIFETIME_CLASSES - 1; below *= 10)
		i++;
	return i;
}

static struct oracle_moment oracle_now(const struct oracle *o, int image)
{
	struct oracle_moment now = { 0 };

	for (int i = 0; i < BLOCKS; i++) {
		const struct oracle_block *b = &o->block[i];

		if (!b->live || (image >= 0 ? b->image != image : o->image[b->image].ended))
			continue;
		now.bytes += b->size;
		now.blocks++;
		now.site_bytes[b->site] += b->size;
		now.site_blocks[b->site]++;
		now.site_slack[b->site] += oracle_slack(o, b->image, b->address, b->size);
	}
	now.time_ns = image >= 0 ? o->image[image].changed_ns : o->changed_ns;
	return now;
}

static void oracle_look(struct oracle *o)
{
	struct oracle_moment now = oracle_now(o, -1);

	if (now.bytes >= o->peak.bytes)
		o->peak = now;
	for (int i = 0; i < IMAGES; i++) {
		now = oracle_now(o, i);
		if (now.bytes >= o->image[i].peak.bytes)
			o->image[i].peak = now;
	}
}

static int oracle_find(const struct oracle *o, int image, uint64_t address)
{
	for (int i = 0; i < BLOCKS; i++)
		if (o->block[i].live && !o->block[i].inflight && o->block[i].image == image &&
		    o->block[i].address == address)
			return i;
	return -1;
}

static int oracle_class(uint64_t ns)
{
	return ns < 10000 ? 0 : ns < 1000000 ? 1 : ns < 100000000 ? 2 : 3;
}

static struct oracle_thread *thread_of(struct oracle *o, const struct heap_event *e)
{
	return &o->thread[o->lane_thread[e->lane]];
}

static void oracle_alloc(struct oracle *o, const struct heap_event *e)
{
	int i = 0;

	while (o->block[i].live)
		i++;
	cr_assert(i < BLOCKS);
	o->block[i] = (struct oracle_block){ .live = true,
					     .image = o->lane_image[e->lane],
					     .site = (int)e->site,
					     .thread = o->lane_thread[e->lane],
					     .address = e->address,
					     .size = e->size,
					     .born_ns = e->time_ns,
					     .made_by = ++o->operations };
	o->last_operation[o->lane_thread[e->lane]] = o->operations;
	o->site[e->site].allocations++;
	o->site[e->site].allocated += e->size;
	oracle_ask(o, o->lane_image[e->lane], (int)e->site, e->address, e->size);
	thread_of(o, e)->allocations++;
	thread_of(o, e)->allocated += e->size;
}

static void oracle_free(struct oracle *o, const struct heap_event *e, int i)
{
	struct oracle_image *image = &o->image[o->lane_image[e->lane]];
	long *last = &o->last_operation[o->lane_thread[e->lane]];

	o->operations++;
	if (i < 0)
		image->unknown_frees++;
	else {
		struct oracle_block *b = &o->block[i];
		struct oracle_site *s = &o->site[b->site];

		b->live = b->inflight = false;
		s->frees++;
		s->handed += b->thread != o->lane_thread[e->lane];
		thread_of(o, e)->handed[b->thread]++;
		thread_of(o, e)->handed_bytes[b->thread] += b->size;
		s->freed += b->size;
		s->lifetime_ns += e->time_ns - b->born_ns;
		s->lifetimes[oracle_lifetime(e->time_ns - b->born_ns)]++;
		s->temporary += *last == b->made_by;
		thread_of(o, e)->frees++;
		thread_of(o, e)->freed += b->size;
		thread_of(o, e)->temporary += *last == b->made_by;
		image->churn_bytes[oracle_class(e->time_ns - b->born_ns)] += b->size;
		image->churn_blocks[oracle_class(e->time_ns - b->born_ns)]++;
	}
	*last = o->operations;
}

static void oracle_realloc(struct oracle *o, const struct heap_event *e, int i)
{
	if (i < 0) { /* becomes known now, and is no candidate for a temporary */
		o->image[o->lane_image[e->lane]].unknown_frees++;
		oracle_alloc(o, e);
		o->last_operation[o->lane_thread[e->lane]] = ++o->operations;
		return;
	}

	struct oracle_block *b = &o->block[i];
	struct oracle_site *s = &o->site[e->site];

	s->reallocations++;
	s->allocated += e->size;
	s->freed += b->size;
	s->moved += b->address != e->address;
	if (b->address != e->address &&
	    !(o->image[b->image].is_glibc && oracle_is_mapped(b->address, b->size) &&
	      oracle_is_mapped(e->address, e->size)))
		s->copied += b->size < e->size ? b->size : e->size;
	oracle_ask(o, b->image, (int)e->site, e->address, e->size);
	thread_of(o, e)->reallocations++;
	thread_of(o, e)->allocated += e->size;
	thread_of(o, e)->freed += b->size;
	o->image[b->image].churn_bytes[oracle_class(e->time_ns - b->born_ns)] += b->size;
	b->inflight = false;
	b->site = (int)e->site;
	b->thread = o->lane_thread[e->lane];
	b->address = e->address;
	b->size = e->size;
	b->made_by = -1;
	o->last_operation[o->lane_thread[e->lane]] = ++o->operations;
}

static void oracle_apply(struct oracle *o, const struct heap_event *e)
{
	int image = o->lane_image[e->lane];
	int *held = &o->lane_block[e->lane];
	int i = oracle_find(o, image, e->address);
	bool changes = true;

	if (e->op == HEAP_ALLOC)
		oracle_alloc(o, e);
	else if (e->op == HEAP_FREE) {
		oracle_free(o, e, i);
		changes = i >= 0;
	} else if (e->op == HEAP_REALLOC_BEGIN) {
		*held = i;
		if (i >= 0)
			o->block[i].inflight = true;
		changes = false;
	} else if (e->op == HEAP_REALLOC_DONE)
		oracle_realloc(o, e, *held);
	else if (e->op == HEAP_REALLOC_FREED) {
		oracle_free(o, e, *held);
		changes = *held >= 0;
	} else {
		if (*held >= 0)
			o->block[*held].inflight = false;
		changes = false;
	}
	if (changes)
		o->changed_ns = o->image[image].changed_ns = e->time_ns;
	oracle_look(o);
}

static void oracle_end(struct oracle *o, int image, uint64_t time_ns)
{
	o->image[image].ended = true;
	o->changed_ns = time_ns;
	oracle_look(o);
}

#endif
