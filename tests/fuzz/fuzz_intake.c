// SPDX-License-Identifier: MIT
// FUZZ: lib/record/heap/*.c lib/record/aggregate/*.c lib/base/*.c lib/object/*.c lib/store/*.c lib/unwind/*.c
/*
 * fuzz_intake - a program that writes what it likes into its rings, though in turn, so that all of it
 * is read: events of any kind, of blocks that are not there, with numbers that do not grow.
 *
 * Every event is either taken or damage, which is counted: this file knows which.  Whatever was
 * taken, allocations - frees = live blocks, and the sites sum to the image and the image to the tree.
 *
 * An input is a byte, the mode, then 8 bytes an event: what is odd about it, its ring and number, op,
 * function, result, address, size, and its stack in two.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/heap/intake.h"
#include "record/heap/intake_images.h"
#include "tests/unit/heap_fake.h"

enum { RINGS = 3, LOG2 = 8, EVENT_BYTES = 8, NODES = 300, MOST_EVENTS = 2000 };

#define LARGEST ((UINT64_C(1) << 48) - 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ring_truth {
	uint64_t last, damaged, taken; /* taken has those with a damaged address or op */
};

static struct fuzz {
	struct channel channel;
	struct aggregate *aggregate;
	struct heap_model *model;
	struct frames *frames;
	struct intake *intake;
	struct fake_image image;
	struct fake_ring *ring[RINGS];
	struct ring_truth truth[RINGS];
	uint64_t number; /* the next one of a program that means well */
	uint64_t beyond; /* all of them */
} fuzz;

#define check(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

/* --- what there is ----------------------------------------------------------------------------*/

/* Parents that are no nodes, or later ones; marks; modules that are none. */
static void write_nodes(struct wire_segment *shared, struct wire_node *nodes)
{
	static const uint32_t modules[] = {
		0, 1, 2, WIRE_MODULE_STOP, WIRE_MODULE_ELIDED, 0x10000
	};

	for (uint32_t i = 1; i < NODES; i++)
		nodes[i] = (struct wire_node){
			.address = i % 7    ? i * 16
				   : i % 14 ? UINT64_MAX
					    : 0,
			.parent = i % 11 ? i / 2 : i + 5,
			.module = modules[i % ARRAY_SIZE(modules)],
		};
	shared->nodes_used = NODES;
}

static void set_up(unsigned int mode)
{
	memset(&fuzz, 0, sizeof(fuzz));
	check(channel_open(&fuzz.channel, LOG2, NULL) == 0);
	fuzz.aggregate = aggregate_new();
	fuzz.model = heap_model_new();
	fuzz.frames = frames_new(fuzz.aggregate);
	fuzz.intake = xcalloc(1, sizeof(*fuzz.intake));
	intake_init(fuzz.intake, &fuzz.channel, fuzz.model, fuzz.frames);
	fuzz.intake->start_ns = clock_now_ns();
	fuzz.intake->mode = WIRE_MODE_EXACT + mode % 3;
	if (fuzz.intake->mode == WIRE_MODE_SAMPLE) {
		fuzz.intake->sample_bytes = WIRE_SAMPLE_BYTES_MIN;
		heap_model_is_sample(fuzz.model);
	}
	fake_image(&fuzz.image, &fuzz.channel, 0, getpid());
	write_nodes(fuzz.image.shared, fuzz.image.nodes);
	for (int i = 0; i < RINGS; i++) {
		fuzz.ring[i] = fake_ring(&fuzz.image, LOG2, i + 1);
		fake_alloc(fuzz.ring[i], 0x100, 16, 0);
		fuzz.truth[i].last = atomic_load(&fuzz.channel.control->sequence) - 1;
		fuzz.truth[i].taken = 2;
	}
	fuzz.number = fuzz.beyond = atomic_load(&fuzz.channel.control->sequence);
}

static void tear_down(void)
{
	intake_release(fuzz.intake);
	free(fuzz.intake);
	fake_image_close(&fuzz.image);
	frames_free(fuzz.frames);
	heap_model_free(fuzz.model);
	aggregate_free(fuzz.aggregate);
	channel_close(&fuzz.channel);
}

/* --- events -----------------------------------------------------------------------------------*/

static uint64_t word(uint8_t byte)
{
	static const uint64_t odd[] = {
		0, 1, 7, UINT64_C(1) << 47, UINT64_C(1) << 32, LARGEST - 7, LARGEST, 0x1000
	};

	return byte < 248 ? 0x1000 + UINT64_C(16) * (byte % 64) + byte / 64 * (UINT64_C(1) << 33)
			  : odd[byte - 248];
}

/* Never 0, which is that of no event. */
static uint64_t number_of(uint8_t what, uint8_t by)
{
	uint64_t number = fuzz.number;

	switch (what & 7) {
	case 0:
		number -= by;
		break;
	case 1:
		number += by;
		break;
	case 2:
		number = by < 4 ? LARGEST - by : number;
		break;
	default:
		break;
	}
	return number && number <= LARGEST ? number : 1;
}

static uint32_t stack_of(const uint8_t *bytes)
{
	uint32_t stack = bytes[0] | (uint32_t)bytes[1] << 8;

	if (stack < 0xff00)
		return stack % (NODES + 20);
	return stack < 0xff80 ? WIRE_NODES + stack : UINT32_MAX - stack % 128;
}

static uint8_t result_of(uint8_t byte)
{
	return byte < 224 ? byte % (WIRE_RESULT_CAME + 1) : byte;
}

/* Of what is taken: nothing can be made of it. */
static bool is_damaged(const struct wire_event *event)
{
	bool is_realloc_end = event->op == WIRE_REALLOC_END;
	bool is_of_sample = event->result == WIRE_RESULT_LEFT || event->result == WIRE_RESULT_CAME;
	bool has_block = event->op == WIRE_ALLOC || event->op == WIRE_FREE ||
			 event->op == WIRE_REALLOC_BEGIN ||
			 (is_realloc_end && (event->result == WIRE_RESULT_DONE || is_of_sample));

	if (is_realloc_end && is_of_sample && fuzz.intake->mode != WIRE_MODE_SAMPLE)
		return true;

	if (event->op == WIRE_NONE || event->op >= WIRE_NR_OPS)
		return true;
	return has_block && !event->address;
}

static void expect(struct ring_truth *truth, const struct wire_event *event)
{
	if (event->sequence <= truth->last) {
		truth->damaged++;
		return;
	}
	truth->last = event->sequence;
	truth->taken++;
	truth->damaged += is_damaged(event);
}

static void read_all(void)
{
	for (int i = 0; i < RINGS; i++)
		atomic_store(&fuzz.ring[i]->shared->low, 0);
	atomic_store(&fuzz.channel.control->sequence, fuzz.beyond);
	while (intake_round(fuzz.intake))
		;
	for (int i = 0; i < RINGS; i++)
		check(atomic_load(&fuzz.ring[i]->shared->tail) == fuzz.ring[i]->shared->pos);
}

/* In its turn: with the right lap. */
static void put(const uint8_t *bytes)
{
	unsigned int i = (bytes[0] >> 3) % RINGS;
	struct fake_ring *ring = fuzz.ring[i];
	uint32_t pos = ring->shared->pos;
	struct wire_event event = {
		.op = bytes[1] < 224 ? bytes[1] % WIRE_NR_OPS : bytes[1],
		.function = bytes[2],
		.result = result_of(bytes[3]),
		.address = word(bytes[4]),
		.size = word(bytes[5]),
		.sequence = number_of(bytes[0], bytes[5]),
		.clock = wire_clock() + word(bytes[2]),
		.stack = stack_of(bytes + 6),
	};

	if (pos - atomic_load(&ring->shared->tail) == 1u << LOG2)
		read_all();
	wire_slot_put(&ring->slots[pos & ((1u << LOG2) - 1)], wire_lap(pos, LOG2), &event);
	ring->shared->pos = pos + 1;
	expect(&fuzz.truth[i], &event);
	fuzz.number++;
	if (fuzz.beyond <= event.sequence)
		fuzz.beyond = event.sequence + 1;
	if (fuzz.beyond < fuzz.number)
		fuzz.beyond = fuzz.number;
}

/* It may say that it is about to publish something: all wait for it then. */
static void read_some(const uint8_t *bytes)
{
	atomic_store(&fuzz.ring[bytes[1] % RINGS]->shared->low, bytes[2] % 4 ? 0 : word(bytes[3]));
	atomic_store(&fuzz.channel.control->sequence, fuzz.number);
	intake_round(fuzz.intake);
	intake_resolve(fuzz.intake);
}

/* --- what must hold ---------------------------------------------------------------------------*/

static void check_events(void)
{
	const struct segment *segment = fuzz.intake->segments.at[0];
	uint64_t taken = 0;

	check(segment->rings.nr == RINGS);
	for (int i = 0; i < RINGS; i++) {
		check(segment->rings.at[i]->damaged == fuzz.truth[i].damaged);
		check(segment->rings.at[i]->pos == fuzz.ring[i]->shared->pos);
		taken += fuzz.truth[i].taken;
	}
	check(fuzz.intake->events == taken);
}

static void add(struct profile_heap_site *sum, const struct profile_heap_site *site)
{
	check(site->allocations + site->reallocations >= site->live_blocks);
	sum->allocations += site->allocations;
	sum->frees += site->frees;
	sum->reallocations += site->reallocations;
	sum->allocated_bytes += site->allocated_bytes;
	sum->freed_bytes += site->freed_bytes;
	sum->live_bytes += site->live_bytes;
	sum->at_peak_bytes += site->at_peak_bytes;
	sum->at_peak_blocks += site->at_peak_blocks;
	sum->temporary += site->temporary;
}

static void check_sums(const struct image *image)
{
	struct profile_heap whole, tree;
	struct profile_heap_site sum = { 0 }, site;

	heap_model_figures(fuzz.model, image->id, &whole);
	heap_model_figures(fuzz.model, PROFILE_NONE, &tree);
	for (size_t i = 0; i < image->sites.nr; i++) {
		heap_model_site_figures(fuzz.model, image->sites.at[i].model, &site);
		add(&sum, &site);
	}
	check(sum.allocations == whole.allocations && sum.frees == whole.frees);
	check(sum.reallocations == whole.reallocations);
	check(sum.allocated_bytes == whole.allocated_bytes);
	check(sum.freed_bytes == whole.freed_bytes && sum.live_bytes == whole.live_bytes);
	check(sum.at_peak_bytes == whole.peak_bytes && sum.at_peak_blocks == whole.peak_blocks);
	check(sum.temporary == whole.temporary);
	check(whole.allocated_bytes - whole.freed_bytes == whole.live_bytes);
	check(whole.allocations - whole.frees == whole.live_blocks);
	check(whole.peak_bytes >= whole.live_bytes && tree.peak_bytes == whole.peak_bytes);
	check(tree.allocations == whole.allocations && tree.live_bytes == whole.live_bytes);
}

static void check_damage(struct image *image)
{
	struct profile_heap figures;
	uint64_t damaged = 0;

	for (int i = 0; i < RINGS; i++)
		damaged += fuzz.truth[i].damaged;
	image->process = 0;
	image_read_counters(image);
	image_push(image, fuzz.aggregate, true);
	image_tell_quality(image, fuzz.frames, fuzz.aggregate);
	image_figures(image, &figures);
	check(figures.lost_events == damaged);
	check(!damaged || !figures.peak_exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size || size > EVENT_BYTES * MOST_EVENTS)
		return 0;
	set_up(data[0]);
	for (data++, size--; size >= EVENT_BYTES; data += EVENT_BYTES, size -= EVENT_BYTES) {
		if (data[0] < 248)
			put(data);
		else
			read_some(data);
	}
	read_all();
	intake_drain(fuzz.intake);
	while (intake_resolve(fuzz.intake))
		;
	check_events();
	if (fuzz.intake->mode != WIRE_MODE_SAMPLE)
		check_sums(fuzz.intake->images.at[0]);
	check_damage(fuzz.intake->images.at[0]);
	intake_tidy(fuzz.intake);
	tear_down();
	return 0;
}
