/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "shim/filter.h"
#include "shim/ring.h"
#include "shim_file.h"

#define LOG2 8
#define SIZE (1u << LOG2)

static struct shim_file file;
static struct wire_ring *shared;
static struct wire_slot *slots;
static struct ring ring;

static void set_up(void)
{
	shim_file_make(&file, LOG2);
	shared = &file.head->ring[0];
	shared->log2_slots = LOG2;
	slots = (struct wire_slot *)(file.segment + WIRE_SLOTS_AT);
	ring_init(&ring, file.control, shared, slots, false);
}

TestSuite(shim_ring, .init = set_up);

static bool put(uint64_t address)
{
	struct wire_event event = { .op = WIRE_FREE, .address = address };

	return ring_put(&ring, &event);
}

/* Event number pos, if it has come. */
static bool get(uint32_t pos, struct wire_event *event)
{
	return wire_slot_get(&slots[pos & (SIZE - 1)], wire_lap(pos, LOG2), event);
}

Test(shim_ring, an_event_comes_out_as_it_went_in)
{
	struct wire_event in = {
		.op = WIRE_REALLOC_END,
		.function = WIRE_FN_REALLOCARRAY,
		.result = WIRE_RESULT_DONE,
		.address = (UINT64_C(1) << 48) - 16,
		.size = (UINT64_C(1) << 48) - 1,
		.sequence = (UINT64_C(1) << 48) - 1,
		.clock = UINT64_C(0xfedcba9876543210),
		.stack = UINT32_MAX,
	};
	struct wire_slot slot = { 0 };
	struct wire_event out;

	cr_expect(not(wire_slot_get(&slot, 1, &out)));
	wire_slot_put(&slot, 255, &in);
	cr_expect(eq(u64, wire_slot_sequence(&slot, 255), in.sequence));
	cr_expect(zero(u64, wire_slot_sequence(&slot, 254)));
	cr_assert(wire_slot_get(&slot, 255, &out));
	cr_expect(eq(u8, out.op, in.op));
	cr_expect(eq(u8, out.function, in.function));
	cr_expect(eq(u8, out.result, in.result));
	cr_expect(eq(u64, out.address, in.address));
	cr_expect(eq(u64, out.size, in.size));
	cr_expect(eq(u64, out.sequence, in.sequence));
	cr_expect(eq(u32, out.stack, in.stack));

	uint64_t near = in.clock + 123456789;
	uint64_t unit = UINT64_C(1) << WIRE_CLOCK_SHIFT;
	cr_expect(eq(u64, wire_clock_expand(out.clock, near), in.clock / unit * unit));
	cr_expect(eq(u64, wire_clock_expand(out.clock, in.clock - 99999), in.clock / unit * unit));
}

Test(shim_ring, events_appear_in_order_with_numbers_that_grow)
{
	struct wire_event event;
	uint64_t last = 0;

	for (uint32_t i = 0; i < 100; i++) {
		cr_assert(not(get(i, &event)));
		cr_assert(put(1000 + i));
		cr_assert(get(i, &event));
		cr_assert(eq(u64, event.address, 1000 + i));
		cr_assert(gt(u64, event.sequence, last));
		last = event.sequence;
	}
	cr_expect(zero(u64, shared->low));
}

Test(shim_ring, positions_and_laps_wrap)
{
	struct wire_event event;
	uint32_t start = UINT32_MAX - 3 * SIZE;

	/* What an earlier lap would have left behind. */
	for (uint32_t i = 0; i < SIZE; i++)
		slots[i].commit = (uint8_t)(wire_lap(start, LOG2) - 1);
	shared->pos = shared->tail = start;
	ring_init(&ring, file.control, shared, slots, false);
	for (uint32_t pos = start; pos != 5 * SIZE; pos++) {
		cr_assert(not(get(pos, &event)));
		cr_assert(put(pos));
		cr_assert(get(pos, &event));
		cr_assert(eq(u64, event.address, pos));
		atomic_store(&shared->tail, pos + 1);
	}
}

Test(shim_ring, a_full_ring_is_given_up_when_the_heart_stops)
{
	for (uint32_t i = 0; i < SIZE; i++)
		cr_assert(put(i));
	atomic_store(&file.control->heartbeat_ns, sys_monotonic_ns() - WIRE_HEARTBEAT_LIMIT_NS - 1);
	cr_expect(not(put(SIZE)));
	cr_expect(eq(u64, shared->lost, 1));
	cr_expect(eq(u32, shared->pos, SIZE));
	cr_expect(zero(u64, shared->low));
}

Test(shim_ring, a_recorder_that_has_left_is_not_waited_for)
{
	for (uint32_t i = 0; i < SIZE; i++)
		cr_assert(put(i));
	atomic_store(&file.control->heartbeat_ns, 0);
	cr_expect(not(put(SIZE)));
	cr_expect(not(ring_recorder_exists(&ring)));
}

Test(shim_ring, a_recorder_whose_pid_means_nothing_here_is_judged_by_its_heart)
{
	const int32_t nobody = INT32_MAX; /* more than any pid */

	file.control->launcher = nobody;
	atomic_store(&file.control->heartbeat_ns, sys_monotonic_ns() - UINT64_C(1000000000));
	cr_expect(not(ring_recorder_exists(&ring)));
	ring.out_of_sight = true;
	cr_expect(ring_recorder_exists(&ring));
	atomic_store(&file.control->heartbeat_ns, 0);
	cr_expect(not(ring_recorder_exists(&ring)));
}

static void *come_back(void *unused)
{
	usleep(300000);
	atomic_store(&shared->tail, 1);
	return unused;
}

Test(shim_ring, a_recorder_that_was_stopped_with_the_program_is_waited_for)
{
	pthread_t recorder;

	for (uint32_t i = 0; i < SIZE; i++)
		cr_assert(put(i));
	atomic_store(&file.control->heartbeat_ns, sys_monotonic_ns() - 2 * WIRE_HEARTBEAT_LIMIT_NS);
	pthread_create(&recorder, NULL, come_back, NULL);
	cr_expect(put(SIZE));
	cr_expect(zero(u64, shared->lost));
	pthread_join(recorder, NULL);
}

static void do_nothing(int signal)
{
	(void)signal;
}

/* To the calling thread, not to those that it has started. */
static void get_signals_every_us(long us)
{
	const struct sigaction action = { .sa_handler = do_nothing };
	const struct itimerspec every = { { 0, us * 1000 }, { 0, us * 1000 } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
	timer_t timer;

	event._sigev_un._tid = (int)syscall(SYS_gettid);
	sigaction(SIGALRM, &action, NULL);
	cr_assert(zero(int, timer_create(CLOCK_MONOTONIC, &event, &timer)));
	timer_settime(timer, 0, &every, NULL);
}

Test(shim_ring, a_recorder_is_waited_for_as_long_where_signals_come_all_the_time)
{
	pthread_t recorder;

	for (uint32_t i = 0; i < SIZE; i++)
		cr_assert(put(i));
	pthread_create(&recorder, NULL, come_back, NULL);
	get_signals_every_us(300);
	cr_expect(put(SIZE));
	cr_expect(zero(u64, shared->lost));
	pthread_join(recorder, NULL);
}

/* As programs may that have libc's, which takes no system call. */
static void give_up_the_clock(void)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	cr_assert(filter_add(&(struct sock_fprog){ sizeof(code) / sizeof(*code), code }));
}

Test(shim_ring, a_recorder_that_is_gone_is_not_waited_for_where_there_is_no_clock)
{
	const int32_t nobody = INT32_MAX;

	for (uint32_t i = 0; i < SIZE; i++)
		cr_assert(put(i));
	file.control->launcher = nobody;
	give_up_the_clock();
	get_signals_every_us(300);
	cr_expect(not(put(SIZE)));
	cr_expect(not(ring_recorder_exists(&ring)));
}

static void *beat_only(void *stop)
{
	while (!atomic_load((_Atomic int *)stop)) {
		atomic_store(&file.control->heartbeat_ns, sys_monotonic_ns());
		usleep(20000);
	}
	return NULL;
}

Test(shim_ring, that_the_program_wrote_over_is_given_up_though_the_recorder_lives)
{
	_Atomic int stop = 0;
	pthread_t recorder;

	pthread_create(&recorder, NULL, beat_only, &stop);
	atomic_store(&shared->pos, 12345678);
	ring.limit = 12345678;
	cr_expect(not(put(0)));
	cr_expect(eq(u64, shared->lost, 1));
	atomic_store(&stop, 1);
	pthread_join(recorder, NULL);
}

Test(shim_ring, wakes_a_sleeping_recorder_from_half_full_on)
{
	atomic_store(&file.control->sleeping, 1);
	for (uint32_t i = 0; i < SIZE / 2; i++)
		put(i);
	cr_expect(eq(u32, file.control->sleeping, 1));
	put(0);
	cr_expect(zero(u32, file.control->sleeping));
}

Test(shim_ring, another_owner_goes_on_where_the_last_one_stopped)
{
	struct wire_event event;

	for (uint32_t i = 0; i < 300; i++) {
		put(i);
		atomic_store(&shared->tail, i + 1);
	}
	ring = (struct ring){ 0 };
	atomic_store(&shared->low, 7); /* it was interrupted */
	ring_init(&ring, file.control, shared, slots, false);
	cr_expect(zero(u64, shared->low));
	cr_assert(put(4711));
	cr_assert(get(300, &event));
	cr_expect(eq(u64, event.address, 4711));
}

static void *consume(void *arg)
{
	uint32_t nr = *(uint32_t *)arg, pos = 0;
	struct wire_event event;
	uint64_t wrong = 0;

	while (pos < nr) {
		uint32_t start = pos;

		while (pos < nr && get(pos, &event))
			wrong += event.address != pos++;
		if (pos == start)
			sched_yield();
		atomic_store(&shared->tail, pos);
		atomic_store(&file.control->heartbeat_ns, sys_monotonic_ns());
		if (pos != start && atomic_load(&shared->waiting))
			syscall(SYS_futex, &shared->tail, FUTEX_WAKE, 99, NULL, NULL, 0);
	}
	return (void *)(uintptr_t)wrong;
}

Test(shim_ring, a_producer_that_is_faster_waits_and_loses_nothing)
{
	uint32_t nr = 300000;
	pthread_t consumer;
	void *wrong;

	pthread_create(&consumer, NULL, consume, &nr);
	for (uint32_t i = 0; i < nr; i++)
		cr_assert(put(i));
	pthread_join(consumer, &wrong);
	cr_expect(eq(ptr, wrong, NULL));
	cr_expect(zero(u64, shared->lost));
}
