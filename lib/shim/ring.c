/* SPDX-License-Identifier: MIT */
#include "shim/ring.h"

#include "shim/sys.h"

#define PAGE 4096
#define WAIT_NS UINT64_C(50000000)
#define SPINS 200
/* A recorder that is late and whose process is gone too need not be waited for any longer. */
#define LATE_NS UINT64_C(300000000)
/* Waits after which a heart that does not beat has stopped for good: ^Z may have stopped the
 * recorder together with us, while the clock went on. */
#define DOUBTS 20
/* Waits after which nothing will come: the heart beats, but where we and the recorder are in the
 * ring does not fit together, since the program wrote over it. */
#define WAITS 100

void ring_init(struct ring *ring, struct wire_control *control, struct wire_ring *shared,
	       struct wire_slot *slots, bool out_of_sight)
{
	ring->control = control;
	ring->out_of_sight = out_of_sight;
	ring->shared = shared;
	ring->slots = slots;
	ring->log2 = shared->log2_slots;
	ring->mask = (1u << shared->log2_slots) - 1;
	ring->limit = shared->pos;
	ring->last = atomic_load(&control->sequence) - 1;
	ring_recover(ring);
}

void ring_recover(struct ring *ring)
{
	atomic_store_explicit(&ring->shared->low, 0, memory_order_release);
}

/* The program may have given up to look at the clock: nobody knows then. */
#define AGE_UNKNOWN UINT64_MAX

static uint64_t beat_age_ns(const struct wire_control *control)
{
	uint64_t beat_ns = atomic_load_explicit(&control->heartbeat_ns, memory_order_relaxed);
	uint64_t now_ns = sys_monotonic_ns();

	if (!now_ns)
		return AGE_UNKNOWN;
	return now_ns > beat_ns ? now_ns - beat_ns : 0;
}

bool ring_recorder_exists(const struct ring *ring)
{
	const struct wire_control *control = ring->control;

	/* It has said that it leaves. */
	if (!atomic_load_explicit(&control->heartbeat_ns, memory_order_relaxed))
		return false;
	return beat_age_ns(control) <= LATE_NS || ring->out_of_sight ||
	       sys_process_exists(control->launcher);
}

static void wake_recorder(struct wire_control *control)
{
	if (atomic_load_explicit(&control->sleeping, memory_order_relaxed) &&
	    atomic_exchange(&control->sleeping, 0))
		sys_futex_wake(&control->sleeping);
}

/* The first time around its pages do not exist: many at once are cheaper than one by one. */
static void populate(const struct ring *ring, uint32_t pos)
{
	uintptr_t start = (uintptr_t)&ring->slots[pos & ring->mask] / PAGE * PAGE;
	uintptr_t end = (uintptr_t)(&ring->slots[(ring->limit - 1) & ring->mask] + 1);

	if (pos <= ring->mask && end > start + PAGE)
		sys_madvise((void *)start, end - start, MADV_POPULATE_WRITE);
}

/* The first time around as much again as there is, from a page on: most processes are short. */
static uint32_t part_of(uint32_t size, uint32_t pos)
{
	uint32_t first = 1u << (31 - __builtin_clz(pos | PAGE / sizeof(struct wire_slot)));

	if (pos >= size)
		return size / 4;
	return first < size / 16 ? first : size / 16;
}

/* Room up to the next part, or less if the consumer is behind.  False if there is none. */
static bool extend(struct ring *ring, uint32_t pos, uint32_t tail)
{
	uint32_t size = ring->mask + 1, part = part_of(size, pos);
	uint32_t used = pos - tail, step = part - (pos & (part - 1));

	if (used >= size)
		return false;
	ring->limit = pos + (step < size - used ? step : size - used);
	if (used >= size / 2)
		wake_recorder(ring->control);
	populate(ring, pos);
	return true;
}

static bool has_hope(const struct ring *ring, unsigned int *doubts)
{
	uint64_t age_ns = beat_age_ns(ring->control);

	if (age_ns <= WIRE_HEARTBEAT_LIMIT_NS || age_ns == AGE_UNKNOWN)
		*doubts = 0;
	else if (++*doubts == DOUBTS)
		return false;
	return ring_recorder_exists(ring);
}

/* Until tail is another, or for WAIT_NS: signals come all the time in some programs.  Without a clock
 * the first one ends it. */
static void sleep_on_tail(struct wire_ring *shared, uint32_t tail)
{
	uint64_t now_ns = sys_monotonic_ns(), until_ns = now_ns + WAIT_NS;

	while (sys_futex_wait(&shared->tail, tail, until_ns - now_ns) == -SYS_EINTR) {
		now_ns = sys_monotonic_ns();
		if (!now_ns || now_ns >= until_ns)
			break;
	}
}

/* Waits until tail moves from `tail`; false if there is nobody to move it. */
static bool wait_for_tail(struct ring *ring, uint32_t tail, unsigned int *doubts)
{
	struct wire_ring *shared = ring->shared;

	wake_recorder(ring->control);
	for (int i = 0; i < SPINS; i++)
		if (atomic_load_explicit(&shared->tail, memory_order_relaxed) != tail)
			return true;

	atomic_store(&shared->waiting, 1);
	sleep_on_tail(shared, tail);
	atomic_store(&shared->waiting, 0);
	return atomic_load(&shared->tail) != tail || has_hope(ring, doubts);
}

static uint32_t tail_of(const struct ring *ring)
{
	return atomic_load_explicit(&ring->shared->tail, memory_order_acquire);
}

bool ring_make_room(struct ring *ring)
{
	uint32_t pos = atomic_load_explicit(&ring->shared->pos, memory_order_relaxed);

	if (extend(ring, pos, tail_of(ring)))
		return true;

	uint64_t start_ns = sys_monotonic_ns();
	unsigned int doubts = 0, waits = 0;
	bool alive = true;

	for (;;) {
		uint32_t tail = tail_of(ring);

		if (extend(ring, pos, tail) || !alive)
			break;
		alive = wait_for_tail(ring, tail, &doubts) && ++waits < WAITS;
	}
	ring_count(&ring->shared->stalled_ns, sys_monotonic_ns() - start_ns);
	return alive || ring->limit != pos;
}
