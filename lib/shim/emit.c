/* SPDX-License-Identifier: MIT */
#include "shim/emit.h"

#include "shim/count.h"
#include "shim/guard.h"
#include "shim/session.h"
#include "shim/track.h"

/* A pointer without the tag that some CPUs let programs keep in its upper bits. */
static uint64_t address_of(const void *block)
{
	return (uintptr_t)block & ((UINT64_C(1) << 48) - 1);
}

static uint32_t stack_of(struct track *track, const uintptr_t *frame)
{
	return walk_stack(&track->walk, frame[1], guard_caller_sp(frame), frame[0]);
}

static __attribute__((noinline)) void give_up(const struct ring *ring)
{
	if (session_live() && ring_recorder_exists(ring))
		session_count_lost(WIRE_REASON_RECORDER_GONE);
	else if (session_live())
		session_off(WIRE_REASON_RECORDER_GONE);
}

/* Inline: so an event never exists but in registers and in its slot. */
static inline __attribute__((always_inline)) void put(struct track *track, struct wire_event *event)
{
	if (__builtin_expect(!ring_put(&track->ring, event), 0))
		give_up(&track->ring);
}

static inline void count(struct track *track, _Atomic uint64_t *operations, uint64_t bytes)
{
	ring_count(operations, 1);
	ring_count(&track->ring.shared->allocated_bytes, bytes);
}

void emit_alloc(int level, const uintptr_t *frame, enum wire_function function, void *block,
		size_t size)
{
	struct track *track = track_get((unsigned int)level);

	if (!track) {
		count_apart(&session.segment->apart.allocations, size);
		return;
	}
	struct wire_event event = {
		.op = WIRE_ALLOC,
		.function = (uint8_t)function,
		.address = address_of(block),
		.size = size,
		.stack = stack_of(track, frame),
	};
	put(track, &event);
	count(track, &track->ring.shared->allocations, size);
}

void emit_free(int level, enum wire_function function, void *block)
{
	struct track *track = track_get((unsigned int)level);
	struct wire_event event = {
		.op = WIRE_FREE,
		.function = (uint8_t)function,
		.address = address_of(block),
	};

	if (!track) {
		count_apart(&session.segment->apart.frees, 0);
		return;
	}
	put(track, &event);
	ring_count(&track->ring.shared->frees, 1);
}

void emit_sampled_free(int level, enum wire_function function, void *block, bool is_next)
{
	struct track *track = track_get((unsigned int)level);
	struct wire_event event = {
		.op = WIRE_FREE,
		.function = (uint8_t)function,
		.result = is_next ? WIRE_RESULT_DONE : WIRE_RESULT_NONE,
		.address = address_of(block),
	};

	if (!track) {
		count_apart(&session.segment->apart.frees, 0);
		return;
	}
	put(track, &event);
	ring_count(&track->ring.shared->frees, 1);
}

void emit_realloc_begin(int level, void *block)
{
	struct track *track = track_get((unsigned int)level);
	struct wire_event event = { .op = WIRE_REALLOC_BEGIN, .address = address_of(block) };

	if (track)
		put(track, &event);
}

static bool has_block(enum wire_result result)
{
	return result == WIRE_RESULT_DONE || result == WIRE_RESULT_CAME;
}

static void realloc_ended_apart(enum wire_result result, uint64_t size)
{
	if (has_block(result))
		count_apart(&session.segment->apart.reallocations, size);
	else if (result == WIRE_RESULT_FREED)
		count_apart(&session.segment->apart.frees, 0);
}

void emit_realloc_end(int level, const uintptr_t *frame, enum wire_function function,
		      void *new_block, size_t size, enum wire_result result)
{
	struct track *track = track_get((unsigned int)level);

	if (!track) {
		realloc_ended_apart(result, size);
		return;
	}
	struct wire_event event = {
		.op = WIRE_REALLOC_END,
		.function = (uint8_t)function,
		.result = (uint8_t)result,
		.address = address_of(new_block),
		.size = size,
		.stack = has_block(result) ? stack_of(track, frame) : 0,
	};
	put(track, &event);
	if (has_block(result))
		count(track, &track->ring.shared->reallocations, size);
	else if (result == WIRE_RESULT_FREED)
		ring_count(&track->ring.shared->frees, 1);
}

/* What is no operation: nobody is there to hear of it where events are lost. */
static struct track *track_unless_lost(int level)
{
	return atomic_load(&session.lost) ? NULL : track_get((unsigned int)level);
}

void emit_end(int level, int32_t pid, int status)
{
	struct track *track = track_unless_lost(level);
	struct wire_event event = { .op = WIRE_END, .address = (uint32_t)pid };

	if (!track)
		return;
	if (status != EMIT_STATUS_UNKNOWN)
		event.size = WIRE_END_KNOWN | (uint32_t)status;
	put(track, &event);
}

static uint64_t emit_bare(int level, enum wire_op op)
{
	struct track *track = track_unless_lost(level);
	struct wire_event event = { .op = (uint8_t)op };

	if (!track)
		return 0;
	put(track, &event);
	return event.sequence;
}

void emit_exec(int level)
{
	emit_bare(level, WIRE_EXEC);
}

uint64_t emit_fork(int level)
{
	return emit_bare(level, WIRE_FORK);
}
