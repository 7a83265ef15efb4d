/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "record/aggregate/aggregate.h"

/* A sink that keeps what it is given; text is not copied. */
struct kept {
	VEC(struct profile_module) modules;
	VEC(struct profile_address) addresses;
	VEC(struct profile_stack) stacks;
	VEC(struct profile_process) processes;
	VEC(struct profile_thread) threads;
	VEC(struct profile_event) events;
	VEC(struct profile_first_sample) first_samples;
	VEC(struct profile_later_sample) later_samples;
	VEC(struct profile_sample_sum) sample_sums;
	VEC(struct profile_heap) heaps;
	VEC(struct profile_heap_site) heap_sites;
	VEC(struct profile_heap_size) heap_sizes;
	VEC(struct profile_heap_thread) heap_threads;
	VEC(struct profile_heap_handoff) heap_handoffs;
	VEC(struct profile_quality) quality;
	VEC(struct profile_slice) slices;
	VEC(struct profile_memory) memory;
	VEC(uint32_t) cleared; /* processes whose slices or memory were before the next */
};

#define KEEP(type, field)                                                        \
	static void keep_##type(void *context, const struct profile_##type *row) \
	{                                                                        \
		struct kept *kept = context;                                     \
                                                                                 \
		vec_push(&kept->field, *row);                                    \
	}

KEEP(module, modules)
KEEP(address, addresses)
KEEP(stack, stacks)
KEEP(process, processes)
KEEP(thread, threads)
KEEP(event, events)
KEEP(first_sample, first_samples)
KEEP(later_sample, later_samples)
KEEP(sample_sum, sample_sums)
KEEP(heap, heaps)
KEEP(heap_site, heap_sites)
KEEP(heap_size, heap_sizes)
KEEP(heap_thread, heap_threads)
KEEP(heap_handoff, heap_handoffs)
KEEP(quality, quality)
KEEP(slice, slices)
KEEP(memory, memory)

static void keep_clear(void *context, uint32_t process)
{
	struct kept *kept = context;

	vec_push(&kept->cleared, process);
}

static const struct aggregate_sink sink = {
	.module = keep_module,
	.address = keep_address,
	.stack = keep_stack,
	.process = keep_process,
	.thread = keep_thread,
	.event = keep_event,
	.first_sample = keep_first_sample,
	.later_sample = keep_later_sample,
	.sample_sum = keep_sample_sum,
	.heap = keep_heap,
	.heap_site = keep_heap_site,
	.heap_size = keep_heap_size,
	.heap_thread = keep_heap_thread,
	.heap_handoff = keep_heap_handoff,
	.clear_slices = keep_clear,
	.slice = keep_slice,
	.clear_memory = keep_clear,
	.memory = keep_memory,
	.quality = keep_quality,
};

static void kept_release(struct kept *kept)
{
	vec_free(&kept->modules);
	vec_free(&kept->addresses);
	vec_free(&kept->stacks);
	vec_free(&kept->processes);
	vec_free(&kept->threads);
	vec_free(&kept->events);
	vec_free(&kept->first_samples);
	vec_free(&kept->later_samples);
	vec_free(&kept->sample_sums);
	vec_free(&kept->heaps);
	vec_free(&kept->heap_sites);
	vec_free(&kept->heap_sizes);
	vec_free(&kept->heap_threads);
	vec_free(&kept->heap_handoffs);
	vec_free(&kept->quality);
	vec_free(&kept->slices);
	vec_free(&kept->memory);
	vec_free(&kept->cleared);
}

static struct kept flush(struct aggregate *aggregate)
{
	struct kept kept = { 0 };

	aggregate_flush(aggregate, &sink, &kept);
	return kept;
}

static uint32_t add_app(struct aggregate *aggregate)
{
	return aggregate_module(aggregate, &(struct profile_module){ .kind = PROFILE_MODULE_FILE,
								     .path = "/bin/app",
								     .name = "app",
								     .build_id = "ab" });
}

Test(aggregate, gives_the_same_module_the_same_id)
{
	struct aggregate *aggregate = aggregate_new();
	uint32_t app = add_app(aggregate);
	struct profile_module other = {
		.path = "/bin/app", .name = "app", .build_id = "cd", .kind = PROFILE_MODULE_FILE
	};

	cr_assert_eq(add_app(aggregate), app);
	cr_assert_neq(aggregate_module(aggregate, &other), app);
	aggregate_free(aggregate);
}

Test(aggregate, tells_anonymous_modules_apart_by_name)
{
	struct aggregate *aggregate = aggregate_new();
	struct profile_module one = { .kind = PROFILE_MODULE_ANONYMOUS, .name = "[anon:1]" };
	struct profile_module two = { .kind = PROFILE_MODULE_ANONYMOUS, .name = "[anon:2]" };

	cr_assert_neq(aggregate_module(aggregate, &one), aggregate_module(aggregate, &two));
	aggregate_free(aggregate);
}

Test(aggregate, learns_later_where_a_module_can_be_opened)
{
	struct aggregate *aggregate = aggregate_new();
	struct profile_module app = { .path = "/bin/app", .name = "app", .reason = "not found" };

	aggregate_module(aggregate, &app);
	app.open_path = "/srv/app";
	app.reason = NULL;
	aggregate_module(aggregate, &app);
	app.open_path = "/elsewhere/app";
	aggregate_module(aggregate, &app);

	struct kept kept = flush(aggregate);

	cr_assert_eq(kept.modules.nr, 1);
	cr_assert_str_eq(kept.modules.at[0].open_path, "/srv/app");
	cr_assert_null(kept.modules.at[0].reason);
	kept_release(&kept);
	aggregate_free(aggregate);
}

Test(aggregate, numbers_addresses_by_kind_module_and_value)
{
	struct aggregate *aggregate = aggregate_new();
	uint32_t app = add_app(aggregate);
	uint32_t code = aggregate_address(aggregate, PROFILE_ADDRESS_CODE, app, 5);
	uint32_t cut = aggregate_address(aggregate, PROFILE_ADDRESS_TRUNCATED, PROFILE_NONE, 5);
	uint32_t elided = aggregate_address(aggregate, PROFILE_ADDRESS_ELIDED, PROFILE_NONE, 5);

	cr_assert_eq(code, 0);
	cr_assert_eq(cut, 1);
	cr_assert_eq(elided, 2);
	cr_assert_eq(aggregate_address(aggregate, PROFILE_ADDRESS_CODE, app, 6), 3);
	cr_assert_eq(aggregate_address(aggregate, PROFILE_ADDRESS_CODE, app, 5), code);
	cr_assert_eq(aggregate_address(aggregate, PROFILE_ADDRESS_TRUNCATED, PROFILE_NONE, 5), cut);
	aggregate_free(aggregate);
}

Test(aggregate, gives_a_whole_stack_the_id_that_its_frames_one_by_one_have)
{
	struct aggregate *aggregate = aggregate_new();
	uint32_t app = add_app(aggregate);
	struct profile_address frames[] = {
		{ .kind = PROFILE_ADDRESS_TRUNCATED, .module = PROFILE_NONE, .value = 3 },
		{ .kind = PROFILE_ADDRESS_CODE, .module = app, .value = 0x10 },
		{ .kind = PROFILE_ADDRESS_CODE, .module = app, .value = 0x20 },
	};
	uint32_t stack = PROFILE_NONE;

	for (int i = 0; i < 3; i++)
		stack = aggregate_stack(aggregate, stack,
					aggregate_address(aggregate, frames[i].kind,
							  frames[i].module, frames[i].value));

	cr_assert_eq(aggregate_stack_of(aggregate, frames, 3), stack); /* the first time */
	cr_assert_eq(aggregate_stack_of(aggregate, frames, 3), stack); /* and known */
	cr_assert_eq(aggregate_stack_of(aggregate, frames, 2), stack - 1);
	cr_assert_eq(aggregate_stack_of(aggregate, frames, 0), PROFILE_NONE);
	aggregate_free(aggregate);
}

Test(aggregate, keeps_stacks_apart_that_differ_in_one_frame)
{
	struct aggregate *aggregate = aggregate_new();
	uint32_t app = add_app(aggregate);
	struct profile_address frames[8];
	uint32_t last = PROFILE_NONE;

	for (int i = 0; i < 8; i++)
		frames[i] = (struct profile_address){ .module = app, .value = 100 + i };
	for (int i = 0; i < 8; i++) {
		frames[i].value = 1;
		uint32_t stack = aggregate_stack_of(aggregate, frames, 8);

		frames[i].value = 100 + i;
		cr_assert_neq(stack, last);
		last = stack;
	}
	cr_assert_neq(aggregate_stack_of(aggregate, frames, 8), last);
	aggregate_free(aggregate);
}

Test(aggregate, passes_on_parents_of_stacks_before_their_children)
{
	struct aggregate *aggregate = aggregate_new();
	uint32_t app = add_app(aggregate);

	for (uint64_t i = 0; i < 1000; i++) {
		struct profile_address frames[] = {
			{ .module = app, .value = i % 7 },
			{ .module = app, .value = i % 11 },
			{ .module = app, .value = i },
		};
		aggregate_stack_of(aggregate, frames, 3);
	}

	struct kept kept = flush(aggregate);

	cr_assert_eq(kept.addresses.nr, 1000);
	cr_assert_eq(kept.stacks.nr, 7 + 77 + 1000);
	vec_each(&kept.stacks, stack)
	{
		cr_assert_eq(stack->id, stack - kept.stacks.at);
		cr_assert(stack->parent == PROFILE_NONE || stack->parent < stack->id);
		cr_assert_lt(stack->address, kept.addresses.nr);
	}
	kept_release(&kept);
	aggregate_free(aggregate);
}

/* Writes down the order in which kinds come. */
#define NOTE(type, letter)                                                       \
	static void note_##type(void *context, const struct profile_##type *row) \
	{                                                                        \
		char *order = context;                                           \
		size_t length = strlen(order);                                   \
                                                                                 \
		(void)row;                                                       \
		order[length] = letter;                                          \
		order[length + 1] = '\0';                                        \
	}

NOTE(module, 'm')
NOTE(address, 'a')
NOTE(stack, 's')
NOTE(process, 'p')
NOTE(thread, 't')
NOTE(event, 'e')
NOTE(first_sample, 'S')
NOTE(later_sample, 'L')
NOTE(sample_sum, 'T')
NOTE(heap, 'h')
NOTE(heap_site, 'H')
NOTE(heap_size, 'z')
NOTE(heap_thread, 'd')
NOTE(heap_handoff, 'o')
NOTE(slice, 'l')
NOTE(memory, 'M')
NOTE(quality, 'q')

static const struct aggregate_sink noting = {
	.module = note_module,
	.address = note_address,
	.stack = note_stack,
	.process = note_process,
	.thread = note_thread,
	.event = note_event,
	.first_sample = note_first_sample,
	.later_sample = note_later_sample,
	.sample_sum = note_sample_sum,
	.heap = note_heap,
	.heap_site = note_heap_site,
	.heap_size = note_heap_size,
	.heap_thread = note_heap_thread,
	.heap_handoff = note_heap_handoff,
	.slice = note_slice,
	.memory = note_memory,
	.quality = note_quality,
};

static uint32_t add_process(struct aggregate *aggregate)
{
	return aggregate_process(
		aggregate, &(struct profile_process){ .id = PROFILE_NONE, .parent = PROFILE_NONE });
}

Test(aggregate, passes_on_what_is_referred_to_first)
{
	struct aggregate *aggregate = aggregate_new();
	char order[32] = "";

	aggregate_quality(aggregate, PROFILE_LOST, "", 1);
	aggregate_memory(aggregate, 0, &(struct profile_memory){ 0 }, 1, false);
	aggregate_slices(aggregate, 0, &(struct profile_slice){ 0 }, 1, false);
	aggregate_heap_handoff(aggregate, &(struct profile_heap_handoff){ 0 });
	aggregate_heap_thread(aggregate, &(struct profile_heap_thread){ 0 });
	aggregate_heap_size(aggregate, &(struct profile_heap_size){ 0 });
	aggregate_heap_site(aggregate, &(struct profile_heap_site){ 0 });
	aggregate_heap(aggregate, &(struct profile_heap){ 0 });
	aggregate_sample(aggregate, &(struct profile_sample){ 0 });
	aggregate_sample(aggregate, &(struct profile_sample){ 0 });
	aggregate_event(aggregate, &(struct profile_event){ 0 });
	aggregate_thread(aggregate, &(struct profile_thread){ .id = PROFILE_NONE });
	add_process(aggregate);
	add_app(aggregate);
	aggregate_stack(aggregate, PROFILE_NONE,
			aggregate_address(aggregate, PROFILE_ADDRESS_CODE, 0, 1));
	aggregate_flush(aggregate, &noting, order);

	cr_assert_str_eq(order, "maseptSLThHzdolMq");
	aggregate_free(aggregate);
}

Test(aggregate, passes_on_nothing_twice)
{
	struct aggregate *aggregate = aggregate_new();
	uint32_t app = add_app(aggregate);
	uint32_t address = aggregate_address(aggregate, PROFILE_ADDRESS_CODE, app, 1);
	char order[32] = "";

	aggregate_sample(aggregate,
			 &(struct profile_sample){
				 .stack = aggregate_stack(aggregate, PROFILE_NONE, address) });

	struct kept kept = flush(aggregate);

	add_app(aggregate);
	aggregate_address(aggregate, PROFILE_ADDRESS_CODE, app, 1);
	aggregate_stack(aggregate, PROFILE_NONE, address);
	aggregate_flush(aggregate, &noting, order);

	cr_assert_str_eq(order, "");
	kept_release(&kept);
	aggregate_free(aggregate);
}

Test(aggregate, sums_samples_of_a_stack_a_thread_and_an_event)
{
	struct aggregate *aggregate = aggregate_new();

	aggregate_sample(aggregate, &(struct profile_sample){ 1, 0, 7, 0, 10 });
	aggregate_sample(aggregate, &(struct profile_sample){ 2, 0, 7, 0, 20 });
	aggregate_sample(aggregate, &(struct profile_sample){ 3, 0, 7, 1, 40 });
	aggregate_sample(aggregate, &(struct profile_sample){ 4, 1, 7, 0, 80 });

	struct kept kept = flush(aggregate);

	cr_assert_eq(kept.first_samples.nr, 3);
	cr_assert_eq(kept.first_samples.at[0].sample.time_us, 1);
	cr_assert_eq(kept.first_samples.at[1].sample.event, 1);
	cr_assert_eq(kept.first_samples.at[2].sample.thread, 1);
	cr_assert_eq(kept.later_samples.nr, 1);
	cr_assert_eq(kept.later_samples.at[0].first, 0);
	cr_assert_eq(kept.later_samples.at[0].weight, 20);
	cr_assert_eq(kept.sample_sums.nr, 1);
	cr_assert_eq(kept.sample_sums.at[0].first, 0);
	cr_assert_eq(kept.sample_sums.at[0].samples, 2);
	cr_assert_eq(kept.sample_sums.at[0].weight, 30);
	cr_assert_eq(kept.sample_sums.at[0].weight_squared, 500);
	kept_release(&kept);

	aggregate_sample(aggregate, &(struct profile_sample){ 5, 1, 7, 0, 80 });
	kept = flush(aggregate);
	cr_assert_eq(kept.first_samples.nr, 0);
	cr_assert_eq(kept.later_samples.nr, 1);
	cr_assert_eq(kept.later_samples.at[0].first, 2);
	cr_assert_eq(kept.later_samples.at[0].weight, PROFILE_UNKNOWN, "it is that of the first");
	cr_assert_eq(kept.sample_sums.nr, 1);
	cr_assert_eq(kept.sample_sums.at[0].samples, 2);
	cr_assert_eq(kept.sample_sums.at[0].weight, 160);
	kept_release(&kept);
	aggregate_free(aggregate);
}

Test(aggregate, passes_on_a_changed_row_once_and_as_it_is_last)
{
	struct aggregate *aggregate = aggregate_new();
	uint32_t id = add_process(aggregate);

	for (int i = 0; i < 10; i++)
		aggregate_process(aggregate, &(struct profile_process){ .id = id, .end_us = i });
	aggregate_heap(aggregate, &(struct profile_heap){ .process = PROFILE_NONE, .frees = 1 });
	aggregate_heap(aggregate, &(struct profile_heap){ .process = id, .frees = 2 });
	aggregate_heap(aggregate, &(struct profile_heap){ .process = PROFILE_NONE, .frees = 3 });

	struct kept kept = flush(aggregate);

	cr_assert_eq(kept.processes.nr, 1);
	cr_assert_eq(kept.processes.at[0].end_us, 9);
	cr_assert_eq(kept.heaps.nr, 2);
	cr_assert_eq(kept.heaps.at[0].frees, 3);
	cr_assert_eq(kept.heaps.at[1].frees, 2);
	kept_release(&kept);
	aggregate_free(aggregate);
}

Test(aggregate, passes_on_slices_and_memory_once_and_forgets_where_told)
{
	struct aggregate *aggregate = aggregate_new();
	const struct profile_slice slices[] = { { .time_us = 1 }, { .time_us = 2 } };
	const struct profile_memory memory[] = { { .time_us = 3 } };
	struct kept kept = { 0 };

	aggregate_slices(aggregate, PROFILE_NONE, slices, 2, false);
	aggregate_flush(aggregate, &sink, &kept);
	cr_assert_eq(kept.slices.nr, 2);
	cr_assert_eq(kept.slices.at[1].time_us, 2);
	cr_assert_eq(kept.slices.at[1].process, PROFILE_NONE);
	cr_assert_eq(kept.cleared.nr, 0);

	aggregate_slices(aggregate, 7, slices, 1, true);
	aggregate_memory(aggregate, 8, memory, 1, true);
	aggregate_flush(aggregate, &sink, &kept);
	cr_assert_eq(kept.slices.nr, 3);
	cr_assert_eq(kept.slices.at[2].process, 7);
	cr_assert_eq(kept.memory.at[0].process, 8);
	cr_assert_eq(kept.cleared.nr, 2);
	cr_assert_eq(kept.cleared.at[0], 7);
	cr_assert_eq(kept.cleared.at[1], 8);

	kept_release(&kept);
	aggregate_free(aggregate);
}

Test(aggregate, tells_heap_sites_apart_by_process_stack_and_allocator)
{
	struct aggregate *aggregate = aggregate_new();
	struct profile_heap_site site = { .process = 1, .stack = 2, .allocator = PROFILE_MALLOC };

	aggregate_heap_site(aggregate, &site);
	site.allocator = PROFILE_CALLOC;
	aggregate_heap_site(aggregate, &site);
	site.stack = 1;
	aggregate_heap_site(aggregate, &site);
	site.process = 2;
	aggregate_heap_site(aggregate, &site);
	site.frees = 5;
	aggregate_heap_site(aggregate, &site);

	struct kept kept = flush(aggregate);

	cr_assert_eq(kept.heap_sites.nr, 4);
	cr_assert_eq(kept.heap_sites.at[3].frees, 5);
	kept_release(&kept);
	aggregate_free(aggregate);
}

/* Checked when they are passed on: what is kept of the row refers to what is gone then. */
static void check_sizes(void *context, const struct profile_heap_site *site)
{
	unsigned int *calls = context;

	++*calls;
	cr_assert_eq(site->sizes.nr, 2);
	cr_assert_eq(site->sizes.at[1].bound, 32);
	cr_assert_eq(site->sizes.at[1].blocks, *calls);
	cr_assert_eq(site->lifetimes.nr, 0);
}

Test(aggregate, copies_histograms_and_passes_on_the_last_ones)
{
	struct aggregate *aggregate = aggregate_new();
	const struct aggregate_sink checking = { .heap_site = check_sizes };
	unsigned int calls = 0;

	for (uint64_t round = 1; round <= 2; round++) {
		struct profile_class classes[] = { { 16, 7 }, { 32, 0 } };

		for (uint64_t nr = 0; nr <= round; nr++) {
			classes[1].blocks = nr;
			aggregate_heap_site(aggregate,
					    &(struct profile_heap_site){ .sizes = { classes, 2 } });
		}
		classes[1].blocks = 1000;
		aggregate_flush(aggregate, &checking, &calls);
		aggregate_flush(aggregate, &checking, &calls);
		cr_assert_eq(calls, round);
	}
	aggregate_heap_site(aggregate, &(struct profile_heap_site){ 0 });
	aggregate_free(aggregate);
}

Test(aggregate, tells_heap_sizes_apart_by_process_and_size)
{
	struct aggregate *aggregate = aggregate_new();
	struct profile_heap_size size = { .process = 1, .most_bytes = 16, .blocks = 1 };

	aggregate_heap_size(aggregate, &size);
	size.most_bytes = 32;
	aggregate_heap_size(aggregate, &size);
	size.process = 2;
	aggregate_heap_size(aggregate, &size);
	size.blocks = 5;
	aggregate_heap_size(aggregate, &size);

	struct kept kept = flush(aggregate);

	cr_assert_eq(kept.heap_sizes.nr, 3);
	cr_assert_eq(kept.heap_sizes.at[2].blocks, 5);
	kept_release(&kept);
	aggregate_free(aggregate);
}

Test(aggregate, adds_up_quality)
{
	struct aggregate *aggregate = aggregate_new();

	aggregate_quality(aggregate, PROFILE_LOST, "ring", 2);
	aggregate_quality(aggregate, PROFILE_LOST, NULL, 1);
	aggregate_quality(aggregate, PROFILE_TRUNCATED, "ring", 4);

	struct kept kept = flush(aggregate);

	kept_release(&kept);
	aggregate_quality(aggregate, PROFILE_LOST, "ring", 3);
	kept = flush(aggregate);
	cr_assert_eq(kept.quality.nr, 1);
	cr_assert_eq(kept.quality.at[0].count, 5);
	cr_assert_str_eq(kept.quality.at[0].detail, "ring");
	kept_release(&kept);
	aggregate_free(aggregate);
}

/* Their texts are there as long as the sink is told of them. */
static void expect_worker(void *context, const struct profile_thread *row)
{
	(void)context;
	cr_assert_str_eq(row->name, "worker");
}

static void expect_fast(void *context, const struct profile_process *row)
{
	(void)context;
	cr_assert_eq(row->nr_arguments, 1);
	cr_assert_str_eq(row->arguments[0], "--fast");
}

Test(aggregate, copies_strings)
{
	struct aggregate *aggregate = aggregate_new();
	struct aggregate_sink expecting = sink;
	char name[] = "worker", argument[] = "--fast";
	const char *arguments[] = { argument };
	struct kept kept = { 0 };

	aggregate_thread(aggregate, &(struct profile_thread){ .id = PROFILE_NONE, .name = name });
	aggregate_process(aggregate, &(struct profile_process){ .id = PROFILE_NONE,
								.arguments = arguments,
								.nr_arguments = 1 });
	name[0] = argument[0] = '#';
	arguments[0] = NULL;
	expecting.thread = expect_worker;
	expecting.process = expect_fast;
	aggregate_flush(aggregate, &expecting, &kept);
	kept_release(&kept);
	aggregate_free(aggregate);
}

Test(aggregate, numbers_rows_on_after_those_that_were_passed_on)
{
	struct aggregate *aggregate = aggregate_new();
	uint32_t first = add_process(aggregate);
	struct kept kept = flush(aggregate);

	cr_assert_eq(add_process(aggregate), first + 1);
	aggregate_process(aggregate, &(struct profile_process){ .id = first, .end_us = 7 });
	kept_release(&kept);
	kept = flush(aggregate);
	cr_assert_eq(kept.processes.nr, 2);
	cr_assert_eq(kept.processes.at[0].id, first + 1);
	cr_assert_eq(kept.processes.at[1].id, first);
	cr_assert_eq(kept.processes.at[1].end_us, 7);
	kept_release(&kept);
	aggregate_free(aggregate);
}

/* What is allocated after so many more processes, each with so many sites. */
static size_t bytes_after(struct aggregate *aggregate, uint32_t *process, uint32_t nr)
{
	for (uint32_t end = *process + nr; *process < end; ++*process) {
		struct kept kept;

		for (uint32_t stack = 0; stack < 100; stack++)
			aggregate_heap_site(
				aggregate,
				&(struct profile_heap_site){ .process = *process, .stack = stack });
		kept = flush(aggregate);
		kept_release(&kept);
	}
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

Test(aggregate, keeps_no_figures_of_a_heap_that_were_passed_on)
{
	struct aggregate *aggregate = aggregate_new();
	uint32_t process = 0;
	size_t before = bytes_after(aggregate, &process, 10);

	cr_assert_lt(bytes_after(aggregate, &process, 1000), before + 10000);
	aggregate_free(aggregate);
}

Test(aggregate, keeps_the_arguments_of_a_row_that_comes_without_them)
{
	const char *arguments[] = { "--fast" };
	struct profile_process row = { .id = PROFILE_NONE,
				       .arguments = arguments,
				       .nr_arguments = 1 };
	struct aggregate *aggregate = aggregate_new();
	struct aggregate_sink expecting = sink;
	struct kept kept = { 0 };

	row.id = aggregate_process(aggregate, &row);
	row.arguments = NULL;
	aggregate_process(aggregate, &row);
	expecting.process = expect_fast;
	aggregate_flush(aggregate, &expecting, &kept);
	aggregate_process(aggregate, &row);
	expecting.process = keep_process;
	aggregate_flush(aggregate, &expecting, &kept);
	cr_assert_eq(kept.processes.nr, 1);
	cr_assert_null(kept.processes.at[0].arguments);
	cr_assert_eq(kept.processes.at[0].nr_arguments, 1);
	kept_release(&kept);
	aggregate_free(aggregate);
}

Test(aggregate, leaves_no_gap_between_events)
{
	struct aggregate *aggregate = aggregate_new();

	aggregate_event(aggregate, &(struct profile_event){ .id = 2, .name = "c", .unit = "" });

	struct kept kept = flush(aggregate);

	cr_assert_eq(kept.events.nr, 3);
	cr_assert_eq(kept.events.at[0].id, 0);
	cr_assert_str_eq(kept.events.at[2].name, "c");
	kept_release(&kept);
	aggregate_free(aggregate);
}

#define NR_EACH 20000

static void *sample_on(void *context)
{
	struct aggregate *aggregate = context;
	uint32_t app = add_app(aggregate);

	for (int i = 0; i < NR_EACH; i++) {
		struct profile_address frames[] = {
			{ .module = app, .value = i % 10 },
			{ .module = app, .value = i % 100 },
		};
		uint32_t stack = aggregate_stack_of(aggregate, frames, 2);

		aggregate_sample(aggregate,
				 &(struct profile_sample){ .stack = stack, .weight = 3 });
	}
	return NULL;
}

static void *account_on(void *context)
{
	struct aggregate *aggregate = context;
	uint32_t app = add_app(aggregate);

	for (int i = 0; i < NR_EACH; i++) {
		uint32_t address = aggregate_address(aggregate, PROFILE_ADDRESS_CODE, app, i % 50);
		uint32_t stack = aggregate_stack(aggregate, PROFILE_NONE, address);

		aggregate_heap_site(
			aggregate, &(struct profile_heap_site){ .stack = stack, .allocations = i });
		aggregate_quality(aggregate, PROFILE_BOUNDED, "", 1);
	}
	return NULL;
}

/* What a flush brings must refer only to what it or an earlier one brought. */
static void assert_complete(const struct kept *all)
{
	vec_each(&all->stacks, stack) cr_assert_lt(stack->address, all->addresses.nr);
	vec_each(&all->first_samples, first) cr_assert_lt(first->sample.stack, all->stacks.nr);
	vec_each(&all->later_samples, later) cr_assert_lt(later->first, all->first_samples.nr);
	vec_each(&all->sample_sums, sum) cr_assert_lt(sum->first, all->first_samples.nr);
	vec_each(&all->heap_sites, site) cr_assert_lt(site->stack, all->stacks.nr);
}

/* Of several sums of the same samples the last one counts. */
static uint64_t nr_summed(const struct kept *all)
{
	uint64_t of_first[1000] = { 0 }, nr = 0;

	vec_each(&all->sample_sums, sum) of_first[sum->first] = sum->samples;
	for (int i = 0; i < 1000; i++)
		nr += of_first[i];
	return nr;
}

Test(aggregate, loses_nothing_between_two_threads_and_a_flusher)
{
	struct aggregate *aggregate = aggregate_new();
	struct kept all = { 0 };
	pthread_t sampler, accountant;

	pthread_create(&sampler, NULL, sample_on, aggregate);
	pthread_create(&accountant, NULL, account_on, aggregate);
	for (int i = 0; i < 50; i++) {
		aggregate_flush(aggregate, &sink, &all);
		assert_complete(&all);
	}
	pthread_join(sampler, NULL);
	pthread_join(accountant, NULL);
	aggregate_flush(aggregate, &sink, &all);
	assert_complete(&all);

	cr_assert_eq(all.modules.nr, 1);
	cr_assert_eq(all.addresses.nr, 100);
	cr_assert_eq(all.first_samples.nr, 100);
	cr_assert_eq(all.later_samples.nr, NR_EACH - 100);
	cr_assert_eq(nr_summed(&all), NR_EACH);
	cr_assert_eq(vec_last(&all.quality)->count, NR_EACH);
	kept_release(&all);
	aggregate_free(aggregate);
}

Test(aggregate, has_one_row_for_a_pair_of_threads_of_a_process)
{
	struct aggregate *aggregate = aggregate_new();
	const struct profile_heap_handoff rows[] = {
		{ 0, 7, 8, 1, 10 },
		{ 0, 8, 7, 2, 20 },
		{ 1, 7, 8, 3, 30 },
		{ 0, 7, 8, 4, 40 },
		{ 0, PROFILE_OTHER_THREADS, PROFILE_OTHER_THREADS, 5, 50 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		aggregate_heap_handoff(aggregate, &rows[i]);

	struct kept kept = flush(aggregate);

	cr_assert_eq(kept.heap_handoffs.nr, 4);
	cr_expect_eq(kept.heap_handoffs.at[0].frees, 4);
	cr_expect_eq(kept.heap_handoffs.at[1].frees, 2);
	cr_expect_eq(kept.heap_handoffs.at[2].frees, 3);
	cr_expect_eq(kept.heap_handoffs.at[3].frees, 5);
	kept_release(&kept);
	aggregate_free(aggregate);
}
