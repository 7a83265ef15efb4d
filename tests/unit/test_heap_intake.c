/* SPDX-License-Identifier: MIT */
#include "record/heap/intake.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heap_fake.h"

struct setup {
	struct channel channel;
	struct aggregate *aggregate;
	struct heap_model *model;
	struct frames *frames;
	struct intake intake;
	struct fake_image image;
};

static void set_up(struct setup *s)
{
	cr_assert_eq(channel_open(&s->channel, 8, NULL), 0);
	s->aggregate = aggregate_new();
	s->model = heap_model_new();
	s->frames = frames_new(s->aggregate);
	intake_init(&s->intake, &s->channel, s->model, s->frames);
	s->intake.start_ns = clock_now_ns();
	fake_image(&s->image, &s->channel, 0, getpid());
}

static void tear_down(struct setup *s)
{
	fake_image_close(&s->image);
	intake_release(&s->intake);
	frames_free(s->frames);
	heap_model_free(s->model);
	aggregate_free(s->aggregate);
	channel_close(&s->channel);
}

static struct profile_heap figures(const struct setup *s, uint32_t image)
{
	struct profile_heap f;

	heap_model_figures(s->model, image, &f);
	return f;
}

static void cr_clean(const struct setup *s, uint32_t image)
{
	struct profile_heap f = figures(s, image);

	cr_assert_eq(f.unknown_frees, 0);
	cr_assert_eq(f.late_events, 0);
	cr_assert_eq(heap_model_duplicates(s->model, image), 0);
	cr_assert(f.peak_exact);
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

Test(heap_intake, takes_everything_from_a_ring_that_goes_around_many_times)
{
	struct setup s = { 0 };

	set_up(&s);

	struct fake_ring *ring = fake_ring(&s.image, 8, 1);

	for (int i = 0; i < 300 * 100; i++) { /* more laps than fit the 8 bits of a slot */
		fake_alloc(ring, 0x1000 + 16 * (uint64_t)(i % 7), 10, 0);
		fake_free(ring, 0x1000 + 16 * (uint64_t)(i % 7));
		if (i % 100 == 99)
			cr_assert(intake_round(&s.intake));
	}
	cr_assert_not(intake_round(&s.intake));
	cr_assert_eq(figures(&s, 0).allocations, 30000);
	cr_assert_eq(figures(&s, 0).frees, 30000);
	cr_assert_eq(figures(&s, 0).temporary, 30000);
	cr_assert_eq(ring->shared->tail, ring->shared->pos);
	cr_clean(&s, 0);
	tear_down(&s);
}

Test(heap_intake, foresees_when_the_first_ring_is_half_full)
{
	struct setup s = { 0 };

	set_up(&s);

	struct fake_ring *fast = fake_ring(&s.image, 8, 1), *slow = fake_ring(&s.image, 8, 2);

	intake_round(&s.intake);
	intake_until_pressed_ns(&s.intake);

	uint64_t asked_ns = clock_now_ns();

	cr_assert_eq(intake_until_pressed_ns(&s.intake), UINT64_MAX, "nothing came");

	uint64_t start_ns = clock_now_ns();

	for (int i = 0; i < 32; i++)
		fake_alloc(fast, 0x1000 + 16 * (uint64_t)i, 10, 0);
	fake_alloc(slow, 0x2000, 10, 0);

	uint64_t until_ns = intake_until_pressed_ns(&s.intake);
	uint64_t end_ns = clock_now_ns();

	/* 32 of its 128 are there: the others take three times as long as they did. */
	cr_assert_geq(until_ns, 3 * (s.intake.rested_ns - start_ns));
	cr_assert_leq(until_ns, 3 * (end_ns - asked_ns));

	intake_round(&s.intake);
	cr_assert_eq(intake_until_pressed_ns(&s.intake), UINT64_MAX, "taken, and nothing came");

	for (int i = 0; i < 128; i++)
		fake_free(fast, 0x1000 + 16 * (uint64_t)(i % 32));
	cr_assert_eq(intake_until_pressed_ns(&s.intake), 0, "half full");
	tear_down(&s);
}

Test(heap_intake, orders_the_events_of_threads_by_their_numbers)
{
	struct setup s = { 0 };

	set_up(&s);

	struct fake_ring *a = fake_ring(&s.image, 8, 1), *b = fake_ring(&s.image, 8, 2);

	/* The same address goes to and fro; any other order has unknown frees. */
	for (int i = 0; i < 40; i++) {
		fake_alloc(i % 2 ? a : b, 0x1000, 10, 0);
		fake_free(i % 3 ? a : b, 0x1000);
	}
	fake_alloc(a, 0x1000, 10, 0);
	fake_alloc(b, 0x2000, 5, 0);
	intake_round(&s.intake);

	cr_assert_eq(figures(&s, 0).allocations, 42);
	cr_assert_eq(figures(&s, 0).frees, 40);
	cr_assert_eq(figures(&s, 0).peak_bytes, 15);
	cr_clean(&s, 0);
	tear_down(&s);
}

/* A program that goes on while its page faults are looked for: it touches its block and frees it. */
struct runner {
	struct fake_ring *ring;
	struct fault touch;
	int looks;
};

static size_t take_faults(void *context, struct fault *to, size_t room)
{
	struct runner *runner = context;

	cr_assert_gt(room, 0);
	runner->looks++;
	if (runner->looks == 1) {
		runner->touch.time_ns = clock_now_ns();
		sleep_ms(2);
		fake_free(runner->ring, 0x1000);
	}
	if (runner->looks == 2)
		*to = runner->touch;
	return runner->looks == 2;
}

Test(heap_intake, charges_a_page_fault_before_the_block_is_freed)
{
	struct setup s = { 0 };
	struct runner runner = { .touch = { .address = 0x1010, .pid = getpid() } };
	struct profile_heap_site f;

	set_up(&s);
	heap_model_follow_faults(s.model);
	s.intake.take_faults = take_faults;
	s.intake.context = &runner;
	runner.ring = fake_ring(&s.image, 8, 1);
	fake_alloc(runner.ring, 0x1000, 100, 0);
	intake_round(&s.intake);
	intake_round(&s.intake);
	cr_assert_eq(figures(&s, 0).frees, 1);
	heap_model_site_figures(s.model, 0, &f);
	cr_expect_eq(f.page_faults, 1);
	tear_down(&s);
}

/* A thread that has taken a number and not yet published its event. */
struct stuck {
	struct fake_ring *ring;
	uint64_t sequence;
};

static struct stuck take_number(struct fake_ring *ring)
{
	struct stuck stuck = { .ring = ring };

	atomic_store(&ring->shared->low, atomic_load(&ring->control->sequence));
	stuck.sequence = atomic_fetch_add(&ring->control->sequence, 1);
	return stuck;
}

static void publish(const struct stuck *stuck, struct wire_event event)
{
	struct fake_ring *ring = stuck->ring;
	uint32_t pos = ring->shared->pos++;

	event.sequence = stuck->sequence;
	event.clock = wire_clock();
	wire_slot_put(&ring->slots[pos & ((1u << ring->log2) - 1)], wire_lap(pos, ring->log2),
		      &event);
	atomic_store(&ring->shared->low, 0);
}

Test(heap_intake, waits_for_a_thread_between_its_number_and_its_event)
{
	struct setup s = { 0 };

	set_up(&s);

	struct fake_ring *a = fake_ring(&s.image, 8, 1), *b = fake_ring(&s.image, 8, 2);

	fake_alloc(b, 0x1000, 100, 0);

	struct stuck stuck = take_number(a); /* will allocate 50 */

	fake_free(b, 0x1000);
	intake_round(&s.intake);
	cr_assert_eq(figures(&s, 0).allocations, 1);
	cr_assert_eq(figures(&s, 0).frees, 0, "the free has a larger number");

	publish(&stuck, fake_alloc_event(0x2000, 50, 0));
	intake_round(&s.intake);
	cr_assert_eq(figures(&s, 0).frees, 1);
	cr_assert_eq(figures(&s, 0).peak_bytes, 150, "both were live");
	cr_clean(&s, 0);
	tear_down(&s);
}

Test(heap_intake, goes_on_without_a_stuck_thread_when_another_needs_room)
{
	struct setup s = { 0 };

	set_up(&s);

	struct fake_ring *a = fake_ring(&s.image, 8, 1), *b = fake_ring(&s.image, 8, 2);
	intake_round(&s.intake);

	struct stuck stuck = take_number(a);

	for (int i = 0; i < 200; i++)
		fake_alloc(b, 0x1000 + 16 * (uint64_t)i, 1, 0);
	for (int i = 0; i < 1000 && figures(&s, 0).allocations < 200; i++) {
		intake_round(&s.intake);
		sleep_ms(5);
	}
	cr_assert_eq(figures(&s, 0).allocations, 200);
	cr_assert(figures(&s, 0).peak_exact, "nothing is late so far");

	fake_alloc(b, 0x10000, 1, 0);
	intake_round(&s.intake);
	cr_assert_eq(figures(&s, 0).allocations, 201, "it is not waited for again");

	publish(&stuck, fake_alloc_event(0x100, 7, 0));
	fake_free(b, 0x100);
	intake_round(&s.intake);
	cr_assert_eq(figures(&s, 0).late_events, 1);
	cr_assert_not(figures(&s, 0).peak_exact);
	cr_assert_eq(figures(&s, 0).unknown_frees, 0);
	cr_assert_eq(figures(&s, 0).live_bytes, 201);
	tear_down(&s);
}

static void *publish_soon(void *argument)
{
	sleep_ms(50);
	publish(argument, fake_alloc_event(0x2000, 50, 0));
	return NULL;
}

/* At the end of the recording, and with a ring that is more than half full. */
Test(heap_intake, a_thread_that_has_no_cpu_for_a_while_does_not_make_the_peak_inexact)
{
	struct setup s = { 0 };

	set_up(&s);

	struct fake_ring *a = fake_ring(&s.image, 8, 1), *b = fake_ring(&s.image, 8, 2);
	pthread_t thread;

	intake_round(&s.intake);
	for (int i = 0; i < 200; i++)
		fake_alloc(b, 0x10000 + 16 * (uint64_t)i, 1, 0);

	struct stuck stuck = take_number(a);

	for (int i = 0; i < 50; i++)
		fake_free(b, 0x10000 + 16 * (uint64_t)i);
	pthread_create(&thread, NULL, publish_soon, &stuck);
	intake_drain(&s.intake);
	pthread_join(thread, NULL);

	cr_assert_eq(figures(&s, 0).frees, 50);
	cr_assert_eq(figures(&s, 0).peak_bytes, 250);
	cr_clean(&s, 0);
	tear_down(&s);
}

/* A child that publishes 1000 bytes and dies with a number in its hands. */
static pid_t short_life(struct setup *s, struct fake_image *image, uint32_t index)
{
	pid_t pid = fork();

	if (!pid) {
		fake_image(image, &s->channel, index, getpid());
		struct fake_ring *ring = fake_ring(image, 8, getpid());

		fake_alloc(ring, 0x1000, 1000, 0);
		take_number(ring);
		_exit(0);
	}
	return pid;
}

Test(heap_intake, loses_nothing_that_a_killed_process_published)
{
	struct setup s = { 0 };
	struct fake_image child;

	set_up(&s);

	struct fake_ring *ring = fake_ring(&s.image, 8, 1);
	pid_t pid = short_life(&s, &child, 1);

	waitpid(pid, NULL, 0);
	fake_alloc(ring, 0x1000, 500, 0);
	intake_round(&s.intake);

	struct profile_heap tree = figures(&s, PROFILE_NONE);

	cr_assert_eq(tree.allocations, 2);
	cr_assert_eq(tree.live_bytes, 1500);
	cr_assert_eq(tree.peak_bytes, 1000, "the child was gone when the parent went on");
	while (intake_resolve(&s.intake))
		;
	cr_assert_eq(s.channel.control->owner[1], 0, "the segment is free again");
	cr_assert_eq(s.intake.segments.nr, 1);

	waitpid(short_life(&s, &child, 1), NULL, 0);
	intake_round(&s.intake);
	cr_assert_eq(s.intake.images.nr, 3);
	cr_assert_eq(figures(&s, PROFILE_NONE).allocations, 3);
	cr_assert_eq(figures(&s, PROFILE_NONE).peak_bytes, 1500);
	tear_down(&s);
}

Test(heap_intake, ends_the_image_of_a_process_that_executes_another_program)
{
	struct setup s = { 0 };
	struct fake_image next;

	set_up(&s);
	fake_alloc(fake_ring(&s.image, 8, 1), 0x1000, 700, 0);
	fake_image(&next, &s.channel, 1, getpid());
	fake_alloc(fake_ring(&next, 8, 1), 0x1000, 400, 0);
	intake_round(&s.intake);

	cr_assert_eq(s.intake.images.nr, 2);
	cr_assert_eq(figures(&s, 0).live_bytes, 700, "live at exec");
	cr_assert_eq(figures(&s, 1).live_bytes, 400);
	cr_assert_eq(figures(&s, PROFILE_NONE).peak_bytes, 700);
	cr_assert_eq(figures(&s, PROFILE_NONE).live_bytes, 1100);
	cr_clean(&s, 1);
	fake_image_close(&next);
	tear_down(&s);
}

/* A child that keeps 600 bytes and then is another program, which does not share anything. */
static pid_t becomes_sleep(struct setup *s, struct fake_image *image)
{
	pid_t pid = fork();

	if (!pid) {
		fake_image(image, &s->channel, 1, getpid());
		struct fake_ring *ring = fake_ring(image, 8, getpid());

		fake_alloc(ring, 0x1000, 600, 0);
		fake_put(ring, (struct wire_event){ .op = WIRE_EXEC });
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	return pid;
}

Test(heap_intake, ends_an_image_that_became_a_program_without_the_shim)
{
	struct setup s = { 0 };
	struct fake_image child;

	set_up(&s);

	struct fake_ring *ring = fake_ring(&s.image, 8, 1);
	pid_t pid = becomes_sleep(&s, &child);

	for (int i = 0; i < 500 && !(s.intake.images.nr == 2 && s.intake.images.at[1]->end_ns);
	     i++) {
		sleep_ms(10);
		intake_round(&s.intake);
		intake_tidy(&s.intake);
	}
	cr_assert_eq(s.intake.images.nr, 2);
	cr_assert(s.intake.images.at[1]->end_ns, "over, although the process lives");
	cr_assert_eq(kill(pid, SIGKILL), 0);
	waitpid(pid, NULL, 0);

	fake_alloc(ring, 0x1000, 500, 0);
	intake_round(&s.intake);
	cr_assert_eq(figures(&s, 1).live_bytes, 600);
	cr_assert_eq(figures(&s, PROFILE_NONE).peak_bytes, 600);
	tear_down(&s);
}

Test(heap_intake, gives_free_what_was_claimed_by_who_was_killed_meanwhile)
{
	struct setup s = { 0 };
	_Atomic int32_t *owner;
	pid_t dead = fork();

	if (!dead)
		_exit(0);
	waitpid(dead, NULL, 0);
	set_up(&s);
	owner = s.channel.control->owner;
	atomic_store(&owner[1], dead);
	atomic_store(&owner[2], getpid());
	atomic_store(&s.channel.control->segments_used, 3);
	intake_round(&s.intake);
	intake_tidy(&s.intake);
	cr_assert_eq(atomic_load(&owner[0]), getpid());
	cr_assert_eq(atomic_load(&owner[1]), 0);
	cr_assert_eq(atomic_load(&owner[2]), getpid(), "it may still come");
	tear_down(&s);
}

Test(heap_intake, sees_rings_behind_one_that_is_not_ready)
{
	struct setup s = { 0 };

	set_up(&s);

	struct fake_ring *first = fake_ring(&s.image, 8, 1);

	atomic_store(&first->shared->owner, 0); /* its thread is interrupted there */

	struct fake_ring *second = fake_ring(&s.image, 8, 2);

	fake_alloc(second, 0x1000, 10, 0);
	intake_round(&s.intake);
	cr_assert_eq(figures(&s, 0).live_bytes, 10);

	atomic_store(&first->shared->owner, 1);
	fake_alloc(first, 0x2000, 20, 0);
	intake_round(&s.intake);
	cr_assert_eq(figures(&s, 0).live_bytes, 30);
	tear_down(&s);
}

Test(heap_intake, takes_temporaries_of_a_thread_over_all_its_rings)
{
	struct setup s = { 0 };

	set_up(&s);

	struct fake_ring *ring = fake_ring(&s.image, 8, 1);

	s.image.shared->ring[1].level = 1; /* a signal handler of the same thread */

	struct fake_ring *handler = fake_ring(&s.image, 8, 1);

	fake_alloc(ring, 0x1000, 1, 0);
	fake_alloc(handler, 0x2000, 1, 0); /* between the two */
	fake_free(handler, 0x2000);
	fake_free(ring, 0x1000);
	intake_round(&s.intake);
	cr_assert_eq(figures(&s, 0).temporary, 1);
	tear_down(&s);
}

/* --- hostile programs -------------------------------------------------------------------------*/

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 16;
}

static void scribble(void *memory, size_t size, uint64_t *state)
{
	uint32_t *words = memory;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = (uint32_t)next_random(state) >> next_random(state) % 32;
}

Test(heap_intake, survives_a_program_that_writes_anything_anywhere)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct setup s = { 0 };
		uint64_t state = seed;

		set_up(&s);
		struct fake_ring *ring = fake_ring(&s.image, 8, 1);

		for (int i = 0; i < 50; i++)
			fake_alloc(ring, 0x1000 + 16 * (uint64_t)i, 1,
				   (uint32_t)next_random(&state) % 400);
		s.image.shared->nodes_used = 400;
		s.image.shared->modules_used = 50;
		scribble(s.image.nodes, 400 * sizeof(struct wire_node), &state);
		scribble(s.image.memory + WIRE_MODULES_AT, 50 * sizeof(struct wire_module), &state);
		scribble(ring->slots, (size_t)(seed % 3) * 256 * sizeof(struct wire_slot) / 2,
			 &state);
		if (seed % 2)
			scribble(&s.image.shared->ring[0], sizeof(struct wire_ring), &state);
		if (seed % 5 == 0)
			scribble(&s.image.shared->ring[1],
				 (WIRE_RINGS - 1) * sizeof(struct wire_ring), &state);
		s.image.shared->rings_used = (uint32_t)(seed % 7 ? 1 : UINT32_MAX);
		if (seed % 4 == 0)
			s.channel.control->sequence = next_random(&state);

		for (int i = 0; i < 6; i++)
			intake_round(&s.intake);
		intake_drain(&s.intake);
		while (intake_resolve(&s.intake))
			;
		tear_down(&s);
	}
}

Test(heap_intake, drops_numbers_that_do_not_grow_and_counts_them_as_lost)
{
	struct setup s = { 0 };

	set_up(&s);

	struct fake_ring *ring = fake_ring(&s.image, 8, 1);
	uint64_t before = atomic_load(&s.channel.control->sequence);

	fake_alloc(ring, 0x1000, 1, 0);
	atomic_store(&s.channel.control->sequence, before);
	fake_alloc(ring, 0x2000, 1, 0); /* the same number again */
	fake_alloc(ring, 0x3000, 1, 0);
	intake_round(&s.intake);
	image_read_counters(s.intake.images.at[0]);

	cr_assert_eq(figures(&s, 0).allocations, 2);
	cr_assert_eq(figures(&s, 0).lost_events, 1);
	cr_assert_not(figures(&s, 0).peak_exact);
	tear_down(&s);
}

/* --- real threads -----------------------------------------------------------------------------*/

enum { THREADS = 4, OPERATIONS = 20000, PLACES = 16 };

struct worker {
	struct fake_ring *ring;
	uint64_t (*places)[PLACES]; /* shared addresses; 0: nobody has it */
	uint64_t seed;
	struct wire_event *log; /* what it published, with numbers */
	size_t nr_log;
};

/* As fake_put(), with a log, and waiting for room. */
static void put(struct worker *w, struct wire_event event)
{
	struct wire_ring *shared = w->ring->shared;
	uint32_t pos = shared->pos;

	while (pos - atomic_load(&shared->tail) >= 1u << w->ring->log2)
		sched_yield();
	atomic_store_explicit(&shared->low, atomic_load(&w->ring->control->sequence),
			      memory_order_relaxed);
	event.sequence = atomic_fetch_add(&w->ring->control->sequence, 1);
	event.clock = wire_clock();
	w->log[w->nr_log++] = event;
	wire_slot_put(&w->ring->slots[pos & ((1u << w->ring->log2) - 1)],
		      wire_lap(pos, w->ring->log2), &event);
	atomic_store_explicit(&shared->pos, pos + 1, memory_order_relaxed);
	atomic_store_explicit(&shared->low, 0, memory_order_release);
}

/* Blocks are real ones and change hands between the threads. */
static void *work(void *argument)
{
	struct worker *w = argument;

	for (int i = 0; i < OPERATIONS; i++) {
		uint64_t *place = &(*w->places)[next_random(&w->seed) % PLACES];
		size_t size = next_random(&w->seed) % 200;
		uint64_t mine = (uint64_t)(uintptr_t)malloc(size + 1);

		put(w, fake_alloc_event(mine, size, 0));

		uint64_t old = __atomic_exchange_n(place, mine, __ATOMIC_ACQ_REL);

		if (old) {
			put(w, (struct wire_event){ .op = WIRE_FREE, .address = old });
			free((void *)(uintptr_t)old);
		}
	}
	return NULL;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = ((const struct wire_event *)a)->sequence;
	uint64_t y = ((const struct wire_event *)b)->sequence;

	return x < y ? -1 : x > y;
}

/* The largest sum of sizes, by replaying everything in the order of numbers. */
static uint64_t replayed_peak(struct wire_event *events, size_t nr)
{
	struct map live = { 0 };
	uint64_t sum = 0, peak = 0;

	qsort(events, nr, sizeof(*events), by_number);
	for (size_t i = 0; i < nr; i++) {
		if (events[i].op == WIRE_ALLOC) {
			map_set(&live, events[i].address, events[i].size);
			sum += events[i].size;
		} else {
			sum -= *map_find(&live, events[i].address);
			map_remove(&live, events[i].address);
		}
		peak = sum > peak ? sum : peak;
	}
	map_release(&live);
	return peak;
}

Test(heap_intake, agrees_with_a_replay_of_what_four_threads_published)
{
	static struct wire_event log[THREADS][2 * OPERATIONS];
	static struct wire_event all[THREADS * 2 * OPERATIONS];
	static uint64_t places[PLACES];
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	struct setup s = { 0 };
	size_t nr = 0;

	set_up(&s);
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .ring = fake_ring(&s.image, 8, i + 1),
					      .places = &places,
					      .seed = (uint64_t)i,
					      .log = log[i] };
		pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	intake_round(&s.intake);
	while (figures(&s, 0).allocations < THREADS * OPERATIONS)
		intake_round(&s.intake);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		memcpy(all + nr, log[i], workers[i].nr_log * sizeof(all[0]));
		nr += workers[i].nr_log;
	}
	intake_drain(&s.intake);

	struct profile_heap f = figures(&s, 0);

	cr_assert_eq(f.allocations + f.frees, nr);
	cr_assert_eq(f.unknown_frees, 0);
	cr_assert_eq(heap_model_duplicates(s.model, 0), 0);
	if (!f.late_events) /* a loaded machine may keep a thread from running for long */
		cr_assert_eq(f.peak_bytes, replayed_peak(all, nr));
	tear_down(&s);
}
