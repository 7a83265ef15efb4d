/* SPDX-License-Identifier: MIT */
#include "shim/track.h"

#include "shim/filter.h"
#include "shim/session.h"
#include "shim/sys.h"

/* Rings of other threads to look at before taking a new one. */
#define LOOK_AT 8

__thread struct self self;

/* By ring, up to the last that a thread had. */
static _Atomic(struct track *) tracks[WIRE_RINGS];
static _Atomic uint32_t nr_tracks;
static _Atomic uint32_t next_look;
static _Atomic bool no_more; /* there are no tracks to be had */

static bool is_mine(const struct wire_ring *shared)
{
	for (unsigned int i = 0; i < TRACK_LEVELS; i++)
		if (self.track[i] && self.track[i]->ring.shared == shared)
			return true;
	return false;
}

/* Interrupted by the handler that is now here for a level of its own. */
static bool is_claiming(unsigned int level)
{
	for (unsigned int i = 0; i < level; i++)
		if (!self.track[i])
			return true;
	return false;
}

/* Our own tid on a ring that is not ours is that of a dead thread too. */
static bool is_orphan(const struct wire_ring *shared, unsigned int level, int32_t owner,
		      int32_t tid)
{
	if (owner == tid)
		return !is_mine(shared) && !is_claiming(level);
	return owner && !sys_thread_exists(session.pid, owner);
}

static bool take_over(struct wire_ring *shared, unsigned int level, int32_t tid)
{
	int32_t owner = atomic_load(&shared->owner);

	return is_orphan(shared, level, owner, tid) &&
	       atomic_compare_exchange_strong(&shared->owner, &owner, tid);
}

/* The number of a ring whose thread is dead, or WIRE_RINGS. */
static uint32_t find_orphan(unsigned int level, int32_t tid)
{
	struct wire_segment *segment = session.segment;
	uint32_t used = atomic_load(&segment->rings_used);

	for (uint32_t n = 0; n < used && n < LOOK_AT; n++) {
		uint32_t i = atomic_fetch_add(&next_look, 1) % used;

		if (take_over(&segment->ring[i], level, tid))
			return i;
	}
	return WIRE_RINGS;
}

/* A process with many threads has smaller rings for the later ones: WIRE_RINGS find room. */
static uint32_t log2_of_next(uint32_t slots_used)
{
	uint32_t first = session.control->ring_log2;
	uint32_t less = slots_used < WIRE_SLOTS / 16 ? 0 : slots_used < WIRE_SLOTS / 2 ? 2 : 3;

	return first < WIRE_RING_LOG2_MIN + less ? WIRE_RING_LOG2_MIN : first - less;
}

/* The index of as many slots as a new ring has, or more than there are. */
static uint32_t take_slots(struct wire_segment *segment, uint32_t *log2)
{
	uint32_t used = atomic_load(&segment->slots_used);

	do
		*log2 = log2_of_next(used);
	while (used < WIRE_SLOTS &&
	       !atomic_compare_exchange_weak(&segment->slots_used, &used, used + (1u << *log2)));
	return used;
}

static uint32_t take_number(struct wire_segment *segment)
{
	uint32_t used = atomic_load(&segment->rings_used);

	while (used < WIRE_RINGS &&
	       !atomic_compare_exchange_weak(&segment->rings_used, &used, used + 1))
		;
	return used;
}

/* Who has a ring keeps it. */
static void give_up(enum wire_reason reason)
{
	no_more = true;
	if (session.mode != WIRE_MODE_COUNTS)
		session_count_lost(reason);
}

/* The number of a ring that nobody had before, or WIRE_RINGS. */
static uint32_t make_ring(int32_t tid)
{
	struct wire_segment *segment = session.segment;
	uint32_t log2, at = take_slots(segment, &log2);
	uint32_t i = at < WIRE_SLOTS ? take_number(segment) : WIRE_RINGS;

	if (i == WIRE_RINGS) {
		give_up(WIRE_REASON_NO_RINGS);
		return WIRE_RINGS;
	}
	segment->ring[i].log2_slots = log2;
	segment->ring[i].slots_at = at;
	atomic_store(&segment->ring[i].owner, tid);
	return i;
}

static struct track *track_of(uint32_t i)
{
	struct track *track = atomic_load(&tracks[i]), *nobody = NULL;

	if (track)
		return track;
	track = sys_mmap_private(sizeof(*track));
	if (sys_failed(track))
		return NULL;
	wire_raise(&nr_tracks, i + 1);
	return atomic_compare_exchange_strong(&tracks[i], &nobody, track) ? track : nobody;
}

static struct wire_slot *slots_of(const struct wire_ring *shared)
{
	uint32_t mask = (1u << SESSION_SLOTS_LOG2) - 1;
	struct wire_slot *block =
		area_block(&session.slots, shared->slots_at >> SESSION_SLOTS_LOG2);

	return block ? block + (shared->slots_at & mask) : NULL;
}

static void introduce(struct track *track, int32_t tid)
{
	struct wire_event event = { .op = WIRE_THREAD, .address = (uint32_t)tid };

	ring_put(&track->ring, &event);
}

void track_inherit(bool is_free)
{
	struct track *own = is_free ? self.track[0] : NULL;

	for (uint32_t i = 0; i < nr_tracks; i++)
		tracks[i] = NULL;
	for (unsigned int i = 0; i < TRACK_LEVELS; i++)
		self.track[i] = NULL;
	nr_tracks = own ? 1 : 0;
	no_more = false;
	if (!own)
		return;
	own->sampler = (struct sampler){ 0 };
	own->chosen_at = 0;
	own->in_realloc = false;
	tracks[0] = own;
}

struct track *track_claim(unsigned int level)
{
	if (no_more || atomic_load(&session.lost))
		return NULL;

	int32_t tid = sys_gettid();
	uint32_t i = tid > 0 ? find_orphan(level, tid) : WIRE_RINGS;

	if (tid <= 0)
		give_up(WIRE_REASON_SECCOMP);
	else if (i == WIRE_RINGS)
		i = make_ring(tid);
	if (i == WIRE_RINGS)
		return NULL;

	struct wire_ring *shared = &session.segment->ring[i];
	struct track *track = track_of(i);
	struct wire_slot *slots = slots_of(shared);

	if (!track || !slots) {
		give_up(filter_is_on ? WIRE_REASON_SECCOMP : WIRE_REASON_NO_MEMORY);
		return NULL;
	}
	if (!self.stack_top)
		self.stack_top = stack_top();
	shared->level = level;
	ring_init(&track->ring, session.control, shared, slots, session.out_of_sight);
	if (session.mode == WIRE_MODE_SAMPLE && !track->sampler.mean)
		sampler_init(&track->sampler, session.sample_bytes,
			     wire_clock() ^ (uint64_t)tid << 32 ^ (uintptr_t)track);
	walk_init(&track->walk, &session.modules, &session.trie, self.stack_top);
	introduce(track, tid);
	self.track[level] = track;
	return track;
}
