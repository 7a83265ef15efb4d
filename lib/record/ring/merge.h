/* SPDX-License-Identifier: MIT */
/*
 * merge - records of several rings in the order of time.
 *
 *	for (;;) {
 *		merge_round(&merge, now_ns());		// before looking at any ring
 *		for each ring: while ((header = ring_next(ring)))
 *			memcpy(&merge_add(&merge, time_ns, header->size)->header, header, header->size);
 *		while ((entry = merge_next(&merge))) {
 *			use(entry);
 *			merge_entry_free(entry);
 *		}
 *		wait();
 *	}
 *	merge_end(&merge);				// no more comes: the rest
 *
 * Rings are read one after the other and a record shows up a little after its time, so a record
 * may only pass when nothing older can be under way: those older than a round are given out
 * after the next one, if at least MERGE_SLACK_NS lie between.  What comes later still is given out
 * at once and counted.
 */
#ifndef RECORD_RING_MERGE_H
#define RECORD_RING_MERGE_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MERGE_SLACK_NS = 1000000,
};

struct merge_entry {
	uint64_t time_ns;
	uint64_t number; /* in the order of merge_add() */
	int source;	 /* the caller's; 0 at first */
	void *context;	 /* the caller's; NULL at first */
	size_t size;
	_Alignas(8) struct perf_event_header header; /* of the record, `size` bytes */
};

struct merge {
	struct merge_entry **at; /* a heap, the oldest on top */
	size_t nr, room;
	uint64_t barrier; /* what is older may pass */
	uint64_t round;	  /* when the last round began that may become the barrier */
	uint64_t passed;  /* the time of the last one given out */
	uint64_t nr_added, nr_late;
};

void merge_release(struct merge *merge);

void merge_round(struct merge *merge, uint64_t now_ns);
void merge_end(struct merge *merge);

/* An entry with room for the record.  It is to be filled in before the next call. */
struct merge_entry *merge_add(struct merge *merge, uint64_t time_ns, size_t size);

/* The oldest that may pass, for merge_entry_free(); NULL: none at present. */
struct merge_entry *merge_next(struct merge *merge);
void merge_entry_free(struct merge_entry *entry);

#endif
