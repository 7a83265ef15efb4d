/* SPDX-License-Identifier: MIT */
/*
 * segment - what one image of a program shares with us: its rings, stacks and modules.
 *
 *	segment = segment_open(&channel, index);	// NULL: nothing there yet
 *	segment_find_rings(segment);			// those that are new
 *
 *	ring_peek(ring);
 *	while (ring->next && ring->next < watermark)
 *		ring_read(ring, &event);
 *		use(&event);				// a copy, but not a checked one
 *		ring_step(ring);
 *	ring_give_back(ring);				// room for the producer
 *
 * Whatever the program writes there, nothing here reads outside of the segment or does not end.
 */
#ifndef RECORD_HEAP_SEGMENT_H
#define RECORD_HEAP_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "record/heap/channel.h"
#include "shim/wire.h"

struct segment;

/* The consumer's side of a ring. */
struct ring_view {
	struct segment *segment;
	struct wire_ring *shared;
	const struct wire_slot *slots;
	uint32_t log2, mask;   /* copies: the shared one may change */
	uint32_t pos;	       /* of the next event */
	uint32_t given;	       /* the tail that the producer knows */
	uint64_t next;	       /* the number of the next event; 0: none is there */
	uint64_t last;	       /* the number of the last one taken */
	uint64_t damaged;      /* events without a possible number */
	uint32_t rested_pos;   /* when the collector last rested */
	uint64_t given_up_low; /* the shared one, when it was waited for in vain */
	uint32_t lane;	       /* the model's */

	/* Of what was taken, to compare with what the shim counted. */
	uint64_t allocations, reallocations, frees, bytes;
};

struct segment {
	uint32_t index;
	int32_t pid;
	int pidfd; /* -1: none to be had */
	struct wire_segment *shared;
	const char *tables;	       /* nodes and slots, read-only, from WIRE_NODES_AT on */
	VEC(struct ring_view *) rings; /* those that are ready, in the order in which they got so */
	bool is_viewed[WIRE_RINGS];
	uint32_t nr_viewed; /* of these from the first on */
	uint32_t modules_seen;
	uint32_t execs_seen;
	bool is_forked;		 /* of a child that goes on with its parent's program */
	uint64_t start_sequence; /* no event has a number below */
	uint64_t fork_sequence;	 /* of the event before that fork; 0: not known */

	uint64_t alive_sequence; /* it lived longer than this number, */
	uint64_t alive_ns;	 /* and than this time */
	void *image;		 /* the collector's */
	bool executing;		 /* its last event was an exec, which may fail */
	bool dead;		 /* no more events are published */
	uint64_t end;		 /* when dead: the number that comes after its last */
};

/* What was read before is not read again after: somebody may be changing it. */
static inline void segment_read_once(void)
{
	__asm__ volatile("" ::: "memory");
}

struct segment *segment_open(struct channel *channel, uint32_t index);
void segment_close(struct segment *segment);

/* Appends rings that appeared since. */
void segment_find_rings(struct segment *segment);

/* Without a pidfd to poll. */
bool segment_process_exists(const struct segment *segment);

/* Copies; false: there is no such thing. */
bool segment_node(const struct segment *segment, uint32_t id, struct wire_node *node);
bool segment_module(const struct segment *segment, uint32_t id, struct wire_module *module);
/* A string of the segment's text, for free(); NULL if it lies outside or is empty. */
char *segment_text(const struct segment *segment, uint32_t at, uint32_t bytes);

/* Copies the next entry of what is executed; false: there is none, or it is not whole yet. */
bool segment_exec(struct segment *segment, struct wire_exec *exec);
/* Passes over those that were written over before they were read, or over one that nobody will complete
 * any more; how many? */
uint32_t segment_skip_execs(struct segment *segment);

/* Memory that the shim touched in the process, most of it: stacks, what finds them, and slots. */
uint64_t segment_shim_bytes(const struct segment *segment);

static inline const struct wire_slot *ring_slot(const struct ring_view *ring, uint32_t pos)
{
	return &ring->slots[pos & ring->mask];
}

/* Steps over what cannot be, but no further than once around. */
void ring_peek_further(struct ring_view *ring);

/* There is a next event, with a number below this one, which is not 0. */
static inline bool ring_has_below(const struct ring_view *ring, uint64_t number)
{
	return ring->next - 1 < number - 1;
}

/* Finds out what ring->next is. */
static inline void ring_peek(struct ring_view *ring)
{
	ring->next =
		wire_slot_sequence(ring_slot(ring, ring->pos), wire_lap(ring->pos, ring->log2));
	if (__builtin_expect(ring_has_below(ring, ring->last + 1), 0))
		ring_peek_further(ring);
}

/* Copies the next event out, which is there. */
static inline void ring_read(const struct ring_view *ring, struct wire_event *event)
{
	wire_slot_read(ring_slot(ring, ring->pos), event);
	segment_read_once();
	event->sequence = ring->next;
}

/* Goes on to the one after it. */
static inline void ring_step(struct ring_view *ring)
{
	ring->last = ring->next;
	ring->pos++;
	ring_peek(ring);
}

/* Tells the producer how much room there is, if that is worth telling. */
void ring_give_back(struct ring_view *ring);
/* Events that are there, by the word of the program. */
uint32_t ring_filled(const struct ring_view *ring);
/* The number of the last event that is there, or of the last one taken. */
uint64_t ring_last_published(const struct ring_view *ring);

#endif
