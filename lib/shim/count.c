/* SPDX-License-Identifier: MIT */
#include "shim/count.h"

#include "shim/emit.h"
#include "shim/guard.h"
#include "shim/session.h"
#include "shim/track.h"

static uint64_t operations(const struct wire_ring *shared)
{
	return atomic_load_explicit(&shared->allocations, memory_order_relaxed) +
	       atomic_load_explicit(&shared->reallocations, memory_order_relaxed) +
	       atomic_load_explicit(&shared->frees, memory_order_relaxed);
}

static void tally(struct wire_ring *shared, _Atomic uint64_t *operations, uint64_t bytes)
{
	ring_count(operations, 1);
	ring_count(&shared->allocated_bytes, bytes);
	if (__builtin_expect(atomic_load_explicit(&session.lost, memory_order_relaxed), 0))
		ring_count(&shared->lost, 1);
}

void count_apart(_Atomic uint64_t *operations, uint64_t bytes)
{
	struct wire_counts *apart = &session.segment->apart;

	atomic_fetch_add_explicit(operations, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&apart->allocated_bytes, bytes, memory_order_relaxed);
	if (atomic_load_explicit(&session.lost, memory_order_relaxed))
		atomic_fetch_add_explicit(&apart->lost, 1, memory_order_relaxed);
}

/* True: a new block of the sample. */
static bool choose(struct track *track, const void *block, size_t size)
{
	if (session.mode != WIRE_MODE_SAMPLE || !sampler_hits(&track->sampler, size))
		return false;
	if (chosen_add(&session.chosen, block))
		return true;
	ring_count(&track->ring.shared->lost, 1);
	return false;
}

static bool let_go(const void *block)
{
	return session.mode == WIRE_MODE_SAMPLE && chosen_take(&session.chosen, block);
}

void *count_alloc(int counted, const uintptr_t *frame, enum wire_function function, void *block,
		  size_t size)
{
	int level = guard_level(counted);
	struct track *track;

	if (level == GUARD_OUT)
		return block;
	guard_phase(level, frame, GUARD_OURS);
	track = block ? track_get((unsigned int)level) : NULL;
	if (track && choose(track, block, size)) {
		emit_alloc(level, frame, function, block, size);
		track->chosen_at = operations(track->ring.shared);
	} else if (track) {
		tally(track->ring.shared, &track->ring.shared->allocations, size);
	} else if (block) {
		count_apart(&session.segment->apart.allocations, size);
	}
	guard_leave(level);
	return block;
}

void count_free(int counted, enum wire_function function, void *block)
{
	int level = guard_level(counted);
	struct track *track;

	if (level == GUARD_OUT)
		return;
	track = track_get((unsigned int)level);
	if (track && let_go(block))
		emit_sampled_free(level, function, block,
				  track->chosen_at == operations(track->ring.shared));
	else if (track)
		tally(track->ring.shared, &track->ring.shared->frees, 0);
	else
		count_apart(&session.segment->apart.frees, 0);
	guard_leave(level);
}

void count_realloc_begin(int counted, const uintptr_t *frame, void *block)
{
	int level = guard_level(counted);
	struct track *track;

	if (level == GUARD_OUT)
		return;
	guard_phase(level, frame, GUARD_OURS);
	track = track_get((unsigned int)level);
	if (track) {
		track->in_realloc = let_go(block);
		if (track->in_realloc)
			emit_realloc_begin(level, block);
	}
	guard_phase(level, frame, GUARD_REAL);
}

static void moved(struct track *track, int level, const uintptr_t *frame,
		  enum wire_function function, void *new_block, size_t size)
{
	if (track->in_realloc)
		emit_realloc_end(level, frame, function, new_block, size, WIRE_RESULT_LEFT);
	if (choose(track, new_block, size))
		emit_realloc_end(level, frame, function, new_block, size, WIRE_RESULT_CAME);
	else
		tally(track->ring.shared, &track->ring.shared->reallocations, size);
}

static void not_moved(struct track *track, int level, const uintptr_t *frame,
		      enum wire_function function, const void *block, size_t size)
{
	if (track->in_realloc && size && !chosen_add(&session.chosen, block))
		ring_count(&track->ring.shared->lost, 1);
	if (track->in_realloc)
		emit_realloc_end(level, frame, function, NULL, size,
				 size ? WIRE_RESULT_FAILED : WIRE_RESULT_FREED);
	else if (!size)
		tally(track->ring.shared, &track->ring.shared->frees, 0);
}

void *count_realloc_end(int counted, const uintptr_t *frame, enum wire_function function,
			void *block, void *new_block, size_t size)
{
	int level = guard_level(counted);
	struct track *track;

	if (level == GUARD_OUT)
		return new_block;
	guard_phase(level, frame, GUARD_OURS);
	track = track_get((unsigned int)level);
	if (track && new_block)
		moved(track, level, frame, function, new_block, size);
	else if (track)
		not_moved(track, level, frame, function, block, size);
	else if (new_block)
		count_apart(&session.segment->apart.reallocations, size);
	else if (!size)
		count_apart(&session.segment->apart.frees, 0);
	guard_leave(level);
	return new_block;
}
