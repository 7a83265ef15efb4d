/* SPDX-License-Identifier: MIT */
#include "record/heap/segment.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

static bool find_parts(struct segment *segment, struct channel *channel)
{
	char *whole = channel_segment(channel, segment->index);

	if (!whole)
		return false;
	segment->shared = (void *)whole;
	segment->tables = whole + WIRE_NODES_AT;
	return true;
}

struct segment *segment_open(struct channel *channel, uint32_t index)
{
	struct segment *segment = xcalloc(1, sizeof(*segment));

	segment->index = index;
	segment->pidfd = -1;
	if (!channel_has_segment(channel, index) || !find_parts(segment, channel) ||
	    atomic_load(&segment->shared->state) == WIRE_STATE_EMPTY) {
		segment_close(segment);
		return NULL;
	}
	segment->pid = segment->shared->pid;
	segment->pidfd = (int)syscall(SYS_pidfd_open, segment->pid, 0);
	segment->modules_seen = 1;
	segment->start_sequence = segment->shared->start_sequence;
	segment->is_forked = segment->shared->forked;
	segment->fork_sequence = segment->is_forked ? segment->shared->fork_sequence : 0;
	return segment;
}

void segment_close(struct segment *segment)
{
	if (!segment)
		return;
	if (segment->pidfd >= 0)
		close(segment->pidfd);
	vec_each(&segment->rings, ring) free(*ring);
	vec_free(&segment->rings);
	free(segment);
}

/* NULL: not ready, or not possible. */
static struct ring_view *view_ring(struct segment *segment, struct wire_ring *shared)
{
	uint32_t log2 = shared->log2_slots, at = shared->slots_at;

	segment_read_once();
	if (!atomic_load(&shared->owner) || log2 < WIRE_RING_LOG2_MIN ||
	    log2 > WIRE_RING_LOG2_MAX || at > WIRE_SLOTS - (1u << log2))
		return NULL;

	struct ring_view *ring = xcalloc(1, sizeof(*ring));
	const void *slots = segment->tables + (WIRE_SLOTS_AT - WIRE_NODES_AT);

	ring->segment = segment;
	ring->shared = shared;
	ring->slots = (const struct wire_slot *)slots + at;
	ring->log2 = log2;
	ring->mask = (1u << log2) - 1;
	return ring;
}

void segment_find_rings(struct segment *segment)
{
	uint32_t used = atomic_load(&segment->shared->rings_used);

	used = used < WIRE_RINGS ? used : WIRE_RINGS;
	while (segment->nr_viewed < used && segment->is_viewed[segment->nr_viewed])
		segment->nr_viewed++;
	for (uint32_t i = segment->nr_viewed; i < used; i++) {
		struct ring_view *ring = segment->is_viewed[i]
						 ? NULL
						 : view_ring(segment, &segment->shared->ring[i]);

		if (!ring)
			continue;
		segment->is_viewed[i] = true;
		vec_push(&segment->rings, ring);
	}
}

bool segment_process_exists(const struct segment *segment)
{
	return segment->pid > 0 && (kill(segment->pid, 0) == 0 || errno != ESRCH);
}

/* --- what is executed -------------------------------------------------------------------------*/

uint32_t segment_skip_execs(struct segment *segment)
{
	uint32_t nr = atomic_load(&segment->shared->execs_used) - segment->execs_seen;
	uint32_t skipped = nr > WIRE_EXECS ? nr - WIRE_EXECS : segment->dead && nr;

	segment->execs_seen += skipped;
	return skipped;
}

bool segment_exec(struct segment *segment, struct wire_exec *exec)
{
	const struct wire_exec *shared = &segment->shared->exec[segment->execs_seen % WIRE_EXECS];
	uint32_t number = segment->execs_seen + 1;

	if (segment->execs_seen == atomic_load(&segment->shared->execs_used) ||
	    atomic_load_explicit(&shared->number, memory_order_acquire) != number)
		return false;
	memcpy(exec, shared, sizeof(*exec));
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&shared->number, memory_order_relaxed) != number)
		return false;
	segment->execs_seen = number;
	return true;
}

/* --- tables -----------------------------------------------------------------------------------*/

bool segment_node(const struct segment *segment, uint32_t id, struct wire_node *node)
{
	if (!id || id >= WIRE_NODES)
		return false;
	*node = ((const struct wire_node *)(const void *)segment->tables)[id];
	segment_read_once();
	return node->address && node->parent < id;
}

bool segment_module(const struct segment *segment, uint32_t id, struct wire_module *module)
{
	if (!id || id >= WIRE_MODULES)
		return false;
	memcpy(module, (const char *)segment->shared + WIRE_MODULES_AT + id * sizeof(*module),
	       sizeof(*module));
	segment_read_once();
	return module->start < module->end;
}

char *segment_text(const struct segment *segment, uint32_t at, uint32_t bytes)
{
	if (!bytes || at > WIRE_TEXT_BYTES || bytes > WIRE_TEXT_BYTES - at)
		return NULL;

	char *text = xmalloc((size_t)bytes + 1);

	memcpy(text, (const char *)segment->shared + WIRE_TEXT_AT + at, bytes);
	text[bytes] = '\0';
	return text;
}

/* --- rings ------------------------------------------------------------------------------------*/

void ring_peek_further(struct ring_view *ring)
{
	uint32_t end = ring->pos + (1u << ring->log2);

	for (; ring->pos != end; ring->pos++) {
		ring->next = wire_slot_sequence(ring_slot(ring, ring->pos),
						wire_lap(ring->pos, ring->log2));
		if (!ring->next || ring->next > ring->last)
			return;
		ring->damaged++;
	}
	ring->next = 0;
}

void ring_give_back(struct ring_view *ring)
{
	uint32_t moved = ring->pos - ring->given;

	if (!moved)
		return;
	ring->given = ring->pos;
	atomic_store_explicit(&ring->shared->tail, ring->pos, memory_order_release);
	channel_wake_producers(ring->shared);
}

/* As far round as the producer got; a number that has wrapped says the same. */
static uint64_t ring_touched_bytes(const struct ring_view *ring)
{
	uint32_t pos = atomic_load_explicit(&ring->shared->pos, memory_order_relaxed);

	return (pos <= ring->mask ? pos : ring->mask + 1ul) * sizeof(struct wire_slot);
}

uint64_t segment_shim_bytes(const struct segment *segment)
{
	uint64_t bytes = atomic_load_explicit(&segment->shared->index_bytes, memory_order_relaxed);
	uint32_t nodes = atomic_load_explicit(&segment->shared->nodes_used, memory_order_relaxed);

	bytes += (nodes < WIRE_NODES ? nodes : WIRE_NODES) * sizeof(struct wire_node);
	vec_each(&segment->rings, ring) bytes += ring_touched_bytes(*ring);
	return bytes;
}

uint32_t ring_filled(const struct ring_view *ring)
{
	uint32_t filled =
		atomic_load_explicit(&ring->shared->pos, memory_order_relaxed) - ring->pos;

	return filled > 1u << ring->log2 ? 0 : filled;
}

uint64_t ring_last_published(const struct ring_view *ring)
{
	uint64_t last = ring->last;

	for (uint32_t i = 0; i < 1u << ring->log2; i++) {
		uint64_t sequence = wire_slot_sequence(ring_slot(ring, ring->pos + i),
						       wire_lap(ring->pos + i, ring->log2));

		if (!sequence)
			break;
		last = sequence > last ? sequence : last;
	}
	return last;
}
