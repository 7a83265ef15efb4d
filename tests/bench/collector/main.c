/* SPDX-License-Identifier: MIT */
/*
 * bench_collector LIVE EVENTS [SPREAD] - how fast the collector takes events, with LIVE blocks live.
 *
 * Prints lines "STAGE \t FIGURE \t VALUE": of the model alone, and of the whole way from a ring to the
 * model, nanoseconds of CPU time an event and bytes of memory a live block.  Blocks of 16 bytes and up to
 * SPREAD (495) more, from 200 sites, are freed and others allocated in random order; what fills the
 * heap first is not timed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "record/heap/intake.h"
#include "tests/unit/heap_fake.h"

#define SITES 200
#define RING_LOG2 15
/* An address is given out again after so many others were freed. */
#define AGING 64

struct program {
	uint64_t *live; /* addresses */
	size_t nr;
	uint64_t freed[AGING];
	uint64_t random, clock;
};

static uint64_t spread = 495;

static uint64_t next_random(struct program *program)
{
	program->random ^= program->random << 13;
	program->random ^= program->random >> 7;
	program->random ^= program->random << 17;
	return program->random;
}

static uint64_t size_of(uint64_t random)
{
	return 16 + (random >> 48) % (spread + 1);
}

static struct wire_event allocation(uint64_t address, uint64_t random)
{
	return fake_alloc_event(address, size_of(random), 1 + (uint32_t)(random % SITES));
}

/* One after the other, as a heap grows; AGING of them are free. */
static void program_init(struct program *program, size_t nr)
{
	uint64_t address = UINT64_C(0x555555000010);

	*program = (struct program){ .live = xcalloc(nr, sizeof(uint64_t)), .nr = nr, .random = 1 };
	for (size_t i = 0; i < nr + AGING; i++) {
		*(i < nr ? &program->live[i] : &program->freed[i - nr]) = address;
		address += (size_of(next_random(program)) + 8 + 15) / 16 * 16;
	}
}

/* The step-th event of the steady state: a free and an allocation by turns. */
static struct wire_event program_step(struct program *program, size_t step)
{
	uint64_t random = next_random(program), *place, *aged;

	if (step % 2 == 0)
		program->clock = random;
	place = &program->live[(program->clock >> 20) % program->nr];
	aged = &program->freed[step / 2 % AGING];
	if (step % 2 == 0)
		return (struct wire_event){ .op = WIRE_FREE, .address = *place };

	uint64_t address = *aged;

	*aged = *place;
	*place = address;
	return allocation(address, random);
}

/* Whatever else runs here. */
static uint64_t cpu_now_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static long resident_bytes(void)
{
	long pages = 0, size = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2)
		abort();
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

static void print(const char *stage, const char *figure, double value)
{
	printf("%s\t%s\t%g\n", stage, figure, value);
}

/* --- the model alone --------------------------------------------------------------------------*/

static struct heap_event as_model_event(const struct wire_event *event, uint32_t lane, size_t i)
{
	return (struct heap_event){ .address = event->address,
				    .size = event->size,
				    .time_ns = 100 * i,
				    .site = event->op == WIRE_ALLOC ? event->stack - 1 : 0,
				    .lane = lane & 0xffffff,
				    .op = event->op == WIRE_ALLOC ? HEAP_ALLOC : HEAP_FREE };
}

static void apply(struct heap_model *model, const struct heap_event *events, size_t nr)
{
	for (size_t i = 0; i < nr; i += INTAKE_BATCH)
		heap_model_apply(model, events + i, nr - i < INTAKE_BATCH ? nr - i : INTAKE_BATCH);
}

static void fill_model(struct heap_model *model, struct program *program, uint32_t lane)
{
	struct heap_event events[INTAKE_BATCH];
	size_t nr = 0;

	for (size_t i = 0; i < program->nr; i++) {
		struct wire_event event = allocation(program->live[i], next_random(program));

		events[nr++] = as_model_event(&event, lane, 0);
		if (nr < INTAKE_BATCH && i + 1 < program->nr)
			continue;
		apply(model, events, nr);
		nr = 0;
	}
}

static void bench_model(size_t nr_live, size_t nr)
{
	struct heap_model *model = heap_model_new();
	struct heap_event *events = xcalloc(nr, sizeof(*events));
	struct program program;
	uint32_t image = heap_model_image(model), lane = heap_model_lane(model, image);

	heap_model_glibc(model, image, 4096);
	heap_model_thread(model, lane, 1, true);
	for (int i = 0; i < SITES; i++)
		heap_model_site(model, image);
	program_init(&program, nr_live);

	long before = resident_bytes();

	fill_model(model, &program, lane);
	print("model", "bytes", (double)(resident_bytes() - before) / (double)nr_live);
	for (size_t i = 0; i < nr; i++) {
		struct wire_event event = program_step(&program, i);

		events[i] = as_model_event(&event, lane, i);
	}

	uint64_t start_ns = cpu_now_ns();

	apply(model, events, nr);
	print("model", "ns", (double)(cpu_now_ns() - start_ns) / (double)nr);
	free(events);
	free(program.live);
	heap_model_free(model);
}

/* --- from the rings ---------------------------------------------------------------------------*/

struct rings {
	struct channel channel;
	struct heap_model *model;
	struct frames *frames;
	struct intake *intake;
	struct fake_image image;
	struct fake_ring *ring;
};

static void rings_open(struct rings *rings)
{
	struct error err;

	*rings = (struct rings){ .model = heap_model_new(),
				 .intake = xcalloc(1, sizeof(*rings->intake)) };
	if (channel_open(&rings->channel, RING_LOG2, &err) < 0)
		abort();
	rings->frames = frames_new(NULL);
	intake_init(rings->intake, &rings->channel, rings->model, rings->frames);
	fake_image(&rings->image, &rings->channel, 0, getpid());
	rings->ring = fake_ring(&rings->image, RING_LOG2, getpid());
	intake_round(rings->intake);
}

static void rings_close(struct rings *rings)
{
	intake_release(rings->intake);
	fake_image_close(&rings->image);
	frames_free(rings->frames);
	heap_model_free(rings->model);
	channel_close(&rings->channel);
	free(rings->intake);
}

/* Half a ring at a time, as the collector is woken. */
static uint64_t take(struct rings *rings)
{
	uint64_t start_ns = cpu_now_ns();

	intake_round(rings->intake);
	return cpu_now_ns() - start_ns;
}

static void bench_rings(size_t nr_live, size_t nr)
{
	const size_t part = (size_t)1 << (RING_LOG2 - 1);
	struct rings rings;
	struct program program;
	uint64_t took_ns = 0;

	rings_open(&rings);
	program_init(&program, nr_live);
	for (size_t i = 0; i < nr_live; i++) {
		fake_put(rings.ring, allocation(program.live[i], next_random(&program)));
		if ((i + 1) % part == 0)
			intake_round(rings.intake);
	}
	intake_round(rings.intake);
	for (size_t i = 0; i < nr; i++) {
		fake_put(rings.ring, program_step(&program, i));
		if ((i + 1) % part == 0)
			took_ns += take(&rings);
	}
	took_ns += take(&rings);
	print("rings", "ns", (double)took_ns / (double)nr);
	free(program.live);
	rings_close(&rings);
}

int main(int argc, char **argv)
{
	size_t nr_live = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	size_t nr = argc > 2 ? strtoul(argv[2], NULL, 10) : 2000000;

	if (argc > 3)
		spread = strtoul(argv[3], NULL, 10);
	if (!nr_live)
		return 2;
	bench_model(nr_live, nr);
	bench_rings(nr_live, nr);
	return 0;
}
