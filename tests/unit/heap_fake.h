/* SPDX-License-Identifier: MIT */
/*
 * heap_fake - plays the shim: writes segments and events by the protocol of shim/wire.h.
 *
 *	fake_image(&image, &channel, 0, getpid());
 *	ring = fake_ring(&image, 8, tid);
 *	fake_alloc(ring, 0x1000, 64, stack);
 *	fake_free(ring, 0x1000);
 *	fake_image_close(&image);
 *
 * A producer here does not wait for room: the test makes sure that there is some.
 */
#ifndef TESTS_HEAP_FAKE_H
#define TESTS_HEAP_FAKE_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "record/heap/channel.h"

struct fake_ring {
	struct wire_control *control;
	struct wire_ring *shared;
	struct wire_slot *slots;
	uint32_t log2;
};

struct fake_image {
	struct wire_control *control;
	char *memory; /* the whole segment */
	struct wire_segment *shared;
	struct wire_node *nodes;
	struct fake_ring rings[16];
	uint32_t nr_rings;
};

static inline void fake_image(struct fake_image *image, const struct channel *channel,
			      uint32_t index, int32_t pid)
{
	struct wire_control *control = channel->control;

	image->control = control;
	image->memory = channel_map(channel, wire_segment_at(index), WIRE_SEGMENT_BYTES,
				    PROT_READ | PROT_WRITE);
	image->nr_rings = 0;
	if (!image->memory)
		abort();
	image->shared = (void *)image->memory;
	image->nodes = (void *)(image->memory + WIRE_NODES_AT);
	atomic_store(&control->owner[index], pid);
	if (atomic_load(&control->segments_used) <= index)
		atomic_store(&control->segments_used, index + 1);
	image->shared->pid = pid;
	image->shared->start_ns = clock_now_ns();
	image->shared->start_sequence = atomic_load(&control->sequence);
	image->shared->modules_used = image->shared->nodes_used = 1;
	atomic_store(&image->shared->state, WIRE_STATE_LIVE);
}

static inline void fake_image_close(struct fake_image *image)
{
	munmap(image->memory, WIRE_SEGMENT_BYTES);
}

static inline void fake_put(struct fake_ring *ring, struct wire_event event)
{
	uint32_t pos = ring->shared->pos;

	atomic_store(&ring->shared->low, atomic_load(&ring->control->sequence));
	event.sequence = atomic_fetch_add(&ring->control->sequence, 1);
	event.clock = wire_clock();
	wire_slot_put(&ring->slots[pos & ((1u << ring->log2) - 1)], wire_lap(pos, ring->log2),
		      &event);
	ring->shared->pos = pos + 1;
	atomic_store(&ring->shared->low, 0);
}

static inline void fake_thread(struct fake_ring *ring, int32_t tid)
{
	fake_put(ring, (struct wire_event){ .op = WIRE_THREAD, .address = (uint32_t)tid });
}

static inline struct fake_ring *fake_ring(struct fake_image *image, uint32_t log2, int32_t tid)
{
	struct fake_ring *ring = &image->rings[image->nr_rings];
	struct wire_segment *shared = image->shared;

	ring->control = image->control;
	ring->shared = &shared->ring[image->nr_rings];
	ring->log2 = log2;
	ring->shared->log2_slots = log2;
	ring->shared->slots_at = shared->slots_used;
	shared->slots_used += 1u << log2;
	ring->slots = (struct wire_slot *)(image->memory + WIRE_SLOTS_AT) + ring->shared->slots_at;
	atomic_store(&ring->shared->owner, tid);
	atomic_store(&shared->rings_used, ++image->nr_rings);
	fake_thread(ring, tid);
	return ring;
}

static inline struct wire_event fake_alloc_event(uint64_t address, uint64_t size, uint32_t stack)
{
	return (struct wire_event){ .op = WIRE_ALLOC,
				    .function = WIRE_FN_MALLOC,
				    .address = address,
				    .size = size,
				    .stack = stack };
}

static inline void fake_alloc(struct fake_ring *ring, uint64_t address, uint64_t size,
			      uint32_t stack)
{
	fake_put(ring, fake_alloc_event(address, size, stack));
	ring->shared->allocations++;
	ring->shared->allocated_bytes += size;
}

static inline void fake_free(struct fake_ring *ring, uint64_t address)
{
	fake_put(ring, (struct wire_event){ .op = WIRE_FREE, .address = address });
	ring->shared->frees++;
}

#endif
