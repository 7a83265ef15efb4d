/* SPDX-License-Identifier: MIT */
/*
 * ring - the producer's side of a ring.
 *
 *	if (!ring_put(&ring, &event))
 *		...;			// the recorder is gone; the event is counted as lost
 *
 * A thread at one level of nesting owns a ring: nothing here may be called by a signal handler for
 * the ring it interrupted.  Whatever such a handler does (it may never return), the ring stays
 * whole: a slot is visible only when it is complete, and until then it is nobody's.
 *
 * Publishing is a dozen stores and one atomic addition.  The consumer's tail is looked at once a
 * quarter of a ring: that is also when it is woken, if it sleeps and the ring is half full.  The
 * protocol is in wire.h.
 */
#ifndef SHIM_RING_H
#define SHIM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "shim/wire.h"

/* So many slots ahead the recorder's CPU, which read them last, is asked for the next ones: what comes
 * back from there takes as long as a few events, and each event's atomic addition would wait for the
 * stores of the one before. */
#define RING_AHEAD 16

struct ring {
	struct wire_control *control;
	struct wire_ring *shared;
	struct wire_slot *slots;
	uint32_t log2, mask;
	uint32_t limit;	   /* event number that has no room yet */
	bool out_of_sight; /* the recorder: in a PID namespace that we cannot look into */
	uint64_t last;	   /* no later event has a number below */
};

/* Starts or goes on with a ring whose header and slots are mapped.  Zero is no ring. */
void ring_init(struct ring *ring, struct wire_control *control, struct wire_ring *shared,
	       struct wire_slot *slots, bool out_of_sight);

/* Waits for room for the next event; false if nobody makes any. */
bool ring_make_room(struct ring *ring);

/* After a jump out of the middle of ring_put(). */
void ring_recover(struct ring *ring);

/* False: the recorder has left, or its heart has stopped and its process is gone, if we can tell. */
bool ring_recorder_exists(const struct ring *ring);

/* Adds to a counter that only we write. */
static inline void ring_count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Gives the event its number and time, and publishes it. */
static inline __attribute__((always_inline)) bool ring_put(struct ring *ring,
							   struct wire_event *event)
{
	struct wire_ring *shared = ring->shared;
	uint32_t pos = atomic_load_explicit(&shared->pos, memory_order_relaxed);

	if (__builtin_expect(pos == ring->limit, 0) && !ring_make_room(ring)) {
		ring_count(&shared->lost, 1);
		return false;
	}
	event->clock = wire_clock();
	atomic_store_explicit(&shared->low, ring->last + 1, memory_order_relaxed);
	event->sequence = atomic_fetch_add(&ring->control->sequence, 1);
	wire_slot_put(&ring->slots[pos & ring->mask], wire_lap(pos, ring->log2), event);
	atomic_store_explicit(&shared->pos, pos + 1, memory_order_relaxed);
	ring->last = event->sequence;
	atomic_store_explicit(&shared->low, 0, memory_order_release);
	ARCH_FETCH_TO_WRITE(&ring->slots[(pos + RING_AHEAD) & ring->mask]);
	return true;
}

#endif
