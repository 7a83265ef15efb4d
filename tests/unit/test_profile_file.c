/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "store/reader.h"
#include "store/writer.h"

/* Each test in a folder of its own, which is gone afterwards. */
static char folder[] = "/tmp/cprof-test-XXXXXX";

static void enter_folder(void)
{
	cr_assert(mkdtemp(folder) && !chdir(folder));
}

static void leave_folder(void)
{
	char *command = xasprintf("rm -rf %s", folder);

	cr_assert(system(command) == 0);
	free(command);
}

TestSuite(profile_file, .init = enter_folder, .fini = leave_folder);

#define NOT_UTF8 "caf\xe9"

static const struct profile_run run = {
	.cprof_version = "1.0.0",
	.host = "host",
	.kernel = "6.1",
	.cpu_model = "A CPU",
	.nr_cpus = 8,
	.start_realtime_us = 1700000000000000,
	.start_monotonic_ns = 123456789012345,
	.wall_us = 4210000,
	.options = "--heap=exact " NOT_UTF8,
	.exit_status = 3,
	.signal = 9,
	.complete = true,
	.cpu_on = true,
	.cpu_reason = "no PMU",
	.user_only = true,
	.heap_mode = "exact",
	.heap_tracked = true,
	.heap_reason = NULL,
};

static const struct profile_event events[] = {
	{ .id = 0,
	  .name = "cpu-clock",
	  .unit = "ns",
	  .substituted_for = "cycles",
	  .reason = "no hardware PMU",
	  .status = PROFILE_COUNTED,
	  .value = 1.5e10,
	  .coverage = 0.75,
	  .frequency_hz = 997,
	  .period = 0,
	  .precise = 2 },
	{ .id = 1,
	  .name = "page-faults",
	  .unit = "",
	  .status = PROFILE_NOT_PERMITTED,
	  .period = 7 },
};

static const char *const arguments[] = { "./app", "--size", NOT_UTF8, "" };

static const struct profile_process processes[] = {
	{ .id = 0,
	  .parent = PROFILE_NONE,
	  .pid = 4711,
	  .image = 0,
	  .executable = "/tmp/" NOT_UTF8,
	  .arguments = arguments,
	  .nr_arguments = 4,
	  .start_us = 0,
	  .end_us = 99,
	  .exit_status = 3,
	  .signal = 9,
	  .tracked = true,
	  .untracked_reason = NULL },
	{ .id = 1,
	  .parent = 0,
	  .pid = 4712,
	  .image = 1,
	  .executable = NULL,
	  .start_us = PROFILE_NO_TIME,
	  .end_us = PROFILE_NO_TIME,
	  .exit_status = -1,
	  .signal = 0,
	  .tracked = false,
	  .untracked_reason = "static executable" },
};

static const struct profile_thread threads[] = {
	{ 0, 0, 4711, "app", 0, 98 },
	{ 1, 1, 4712, NULL, PROFILE_NO_TIME, PROFILE_NO_TIME },
};

static const struct profile_module modules[] = {
	{ .id = 0,
	  .kind = PROFILE_MODULE_FILE,
	  .path = "/usr/bin/app",
	  .name = "app",
	  .build_id = "0123abcd",
	  .open_path = "/usr/bin/app",
	  .debug = PROFILE_DEBUG_FULL,
	  .debug_path = "/usr/lib/debug/app",
	  .reason = "none" },
	{ .id = 1, .kind = PROFILE_MODULE_SELF, .name = "libcprof-heap.so" },
	{ .id = 2, .kind = PROFILE_MODULE_KERNEL, .name = "[kernel]" },
};

static const struct profile_address addresses[] = {
	{ 0, PROFILE_ADDRESS_CODE, 0, 0x1234 },
	{ 1, PROFILE_ADDRESS_CODE, 2, UINT64_C(0xffffffff81000000) },
	{ 2, PROFILE_ADDRESS_TRUNCATED, PROFILE_NONE, 5 },
	{ 3, PROFILE_ADDRESS_ELIDED, PROFILE_NONE, 100000 },
	{ 4, PROFILE_ADDRESS_CODE, 1, 0x10 },
};

static const struct profile_stack stacks[] = {
	{ 0, PROFILE_NONE, 2 }, { 1, 0, 0 }, { 2, 1, 1 }, { 3, 1, 4 }, { 4, 3, 1 },
};

static const struct profile_sample samples[] = {
	{ 500, 0, 1, 0, 1003009 },
	{ 400, 1, 2, 1, 1 },
	{ -3, 0, 4, 0, UINT64_C(0x8000000000000001) },
};

static const struct profile_total totals[] = {
	{ 1, 0, 0, 17, 1003009, 1.0e12 },
	{ 1, 1, 0, 1, 1, 1 },
	{ 2, 0, 1, UINT64_MAX, 0, 0 },
};

static const struct profile_heap heaps[] = {
	{ .process = PROFILE_NONE,
	  .allocations = 1,
	  .frees = 2,
	  .reallocations = 3,
	  .allocated_bytes = 4,
	  .freed_bytes = 5,
	  .peak_bytes = 6,
	  .peak_blocks = 7,
	  .peak_time_us = 8,
	  .peak_exact = true,
	  .live_bytes = 9,
	  .live_blocks = 10,
	  .temporary = 11,
	  .churn = { { 12, 13 }, { 14, 15 }, { 16, 17 }, { 18, 19 } },
	  .unknown_frees = 20,
	  .late_events = 21,
	  .lost_events = 22,
	  .stall_us = 23,
	  .inherited_bytes = 24,
	  .inherited_frees = 25,
	  .counted_allocations = 26,
	  .counted_frees = 27,
	  .counted_bytes = 28 },
	{ .process = 1, .peak_time_us = PROFILE_NO_TIME },
};

static const struct profile_heap_site heap_sites[] = {
	{ .process = 0,
	  .stack = 1,
	  .allocator = PROFILE_POSIX_MEMALIGN,
	  .allocations = 1,
	  .frees = 2,
	  .reallocations = 3,
	  .allocated_bytes = 4,
	  .freed_bytes = 5,
	  .at_peak_bytes = 6,
	  .at_peak_blocks = 7,
	  .at_tree_peak_bytes = 8,
	  .at_tree_peak_blocks = 9,
	  .live_bytes = 10,
	  .live_blocks = 11,
	  .temporary = 12,
	  .lifetime_us = 13,
	  .lifetime_blocks = 14 },
};

static const struct profile_function functions[] = {
	{ 0, 0, "f(int)", "_Z1fi", true, "a.c", 10 },
	{ 1, 2, "[kernel]+0x10", NULL, false, NULL, 0 },
};

static const struct profile_frame frames[] = {
	{ 0, 0, 0, "a.c", 12 },
	{ 0, 1, 1, NULL, 0 },
	{ 1, 0, 1, "b.c", 0 },
};

static const struct profile_quality quality[] = {
	{ PROFILE_LOST, 12, "ring full" },
	{ PROFILE_LOST, 1, "" },
};

#define PUT_ALL(name, rows)                           \
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) \
	writer_put_##name(writer, &(rows)[i])

static void put_everything(struct writer *writer)
{
	writer_put_run(writer, &run);
	PUT_ALL(event, events);
	PUT_ALL(process, processes);
	PUT_ALL(thread, threads);
	PUT_ALL(module, modules);
	PUT_ALL(address, addresses);
	PUT_ALL(stack, stacks);
	PUT_ALL(sample, samples);
	PUT_ALL(total, totals);
	PUT_ALL(heap, heaps);
	PUT_ALL(heap_site, heap_sites);
	PUT_ALL(quality, quality);
	writer_put_meta(writer, "doctor", "all is well");
	writer_clear_symbols(writer);
	PUT_ALL(function, functions);
	PUT_ALL(frame, frames);
}

static struct writer *open_writer(const char *path)
{
	struct error err = ERROR_INIT;
	struct writer *writer;

	cr_assert_eq(writer_open(&writer, path, &err), 0, "%s", err.message);
	return writer;
}

static void commit(struct writer *writer)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(writer_commit(writer, &err), 0, "%s", err.message);
}

static void write_profile(const char *path)
{
	struct writer *writer = open_writer(path);

	writer_begin(writer);
	put_everything(writer);
	commit(writer);
	writer_close(writer);
}

static struct profile *read_profile(const char *path)
{
	struct error err = ERROR_INIT;
	struct profile *profile;

	cr_assert_eq(profile_open(&profile, path, &err), 0, "%s", err.message);
	return profile;
}

/* Both texts are equal, or both absent. */
static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

#define cr_same(a, b, field) \
	cr_assert(same((a)->field, (b)->field), "%s: %s, not %s", #field, (a)->field, (b)->field)
#define cr_equal(a, b, field) cr_assert_eq((a)->field, (b)->field, #field)

Test(profile_file, gives_back_the_run)
{
	write_profile("p");

	struct profile *profile = read_profile("p");
	const struct profile_run *read = &profile->run;

	cr_same(read, &run, cprof_version);
	cr_same(read, &run, host);
	cr_same(read, &run, kernel);
	cr_same(read, &run, cpu_model);
	cr_equal(read, &run, nr_cpus);
	cr_equal(read, &run, start_realtime_us);
	cr_equal(read, &run, start_monotonic_ns);
	cr_equal(read, &run, wall_us);
	cr_same(read, &run, options);
	cr_equal(read, &run, exit_status);
	cr_equal(read, &run, signal);
	cr_equal(read, &run, complete);
	cr_equal(read, &run, cpu_on);
	cr_same(read, &run, cpu_reason);
	cr_equal(read, &run, user_only);
	cr_same(read, &run, heap_mode);
	cr_equal(read, &run, heap_tracked);
	cr_same(read, &run, heap_reason);
	cr_assert(profile->symbolized);
	cr_assert_not(profile->in_progress);
	cr_assert_str_eq(profile_meta_value(profile, "doctor"), "all is well");
	cr_assert_null(profile_meta_value(profile, "host"));
	profile_free(profile);
}

Test(profile_file, gives_back_events)
{
	write_profile("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_events, ARRAY_SIZE(events));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		const struct profile_event *read = &profile->events[i];

		cr_equal(read, &events[i], id);
		cr_same(read, &events[i], name);
		cr_same(read, &events[i], unit);
		cr_same(read, &events[i], substituted_for);
		cr_same(read, &events[i], reason);
		cr_equal(read, &events[i], status);
		cr_equal(read, &events[i], value);
		cr_equal(read, &events[i], coverage);
		cr_equal(read, &events[i], frequency_hz);
		cr_equal(read, &events[i], period);
		cr_equal(read, &events[i], precise);
	}
	profile_free(profile);
}

Test(profile_file, gives_back_processes_with_their_arguments)
{
	write_profile("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_processes, ARRAY_SIZE(processes));
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		const struct profile_process *read = &profile->processes[i];

		cr_equal(read, &processes[i], id);
		cr_equal(read, &processes[i], parent);
		cr_equal(read, &processes[i], pid);
		cr_equal(read, &processes[i], image);
		cr_same(read, &processes[i], executable);
		cr_equal(read, &processes[i], start_us);
		cr_equal(read, &processes[i], end_us);
		cr_equal(read, &processes[i], exit_status);
		cr_equal(read, &processes[i], signal);
		cr_equal(read, &processes[i], tracked);
		cr_same(read, &processes[i], untracked_reason);
		cr_equal(read, &processes[i], nr_arguments);
		for (size_t k = 0; k < read->nr_arguments; k++)
			cr_assert_str_eq(read->arguments[k], arguments[k]);
	}
	profile_free(profile);
}

Test(profile_file, gives_back_threads_and_modules)
{
	write_profile("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_threads, ARRAY_SIZE(threads));
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		const struct profile_thread *read = &profile->threads[i];

		cr_equal(read, &threads[i], id);
		cr_equal(read, &threads[i], process);
		cr_equal(read, &threads[i], tid);
		cr_same(read, &threads[i], name);
		cr_equal(read, &threads[i], start_us);
		cr_equal(read, &threads[i], end_us);
	}
	cr_assert_eq(profile->nr_modules, ARRAY_SIZE(modules));
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		const struct profile_module *read = &profile->modules[i];

		cr_equal(read, &modules[i], id);
		cr_equal(read, &modules[i], kind);
		cr_same(read, &modules[i], path);
		cr_same(read, &modules[i], name);
		cr_same(read, &modules[i], build_id);
		cr_same(read, &modules[i], open_path);
		cr_equal(read, &modules[i], debug);
		cr_same(read, &modules[i], debug_path);
		cr_same(read, &modules[i], reason);
	}
	profile_free(profile);
}

static int collect(void *context, const struct profile_sample *sample)
{
	struct profile_sample **next = context;

	*(*next)++ = *sample;
	return 0;
}

/* Structs without text and without padding are compared whole. */
#define cr_same_rows(rows, expected) cr_assert_arr_eq(rows, expected, sizeof(expected), #rows)

Test(profile_file, gives_back_stacks_and_totals)
{
	write_profile("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_addresses, ARRAY_SIZE(addresses));
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		cr_equal(&profile->addresses[i], &addresses[i], id);
		cr_equal(&profile->addresses[i], &addresses[i], kind);
		cr_equal(&profile->addresses[i], &addresses[i], module);
		cr_equal(&profile->addresses[i], &addresses[i], value);
	}
	cr_assert_eq(profile->nr_stacks, ARRAY_SIZE(stacks));
	cr_same_rows(profile->stacks, stacks);
	cr_assert_eq(profile->nr_totals, ARRAY_SIZE(totals));
	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		cr_equal(&profile->totals[i], &totals[i], stack);
		cr_equal(&profile->totals[i], &totals[i], thread);
		cr_equal(&profile->totals[i], &totals[i], event);
		cr_equal(&profile->totals[i], &totals[i], samples);
		cr_equal(&profile->totals[i], &totals[i], weight);
		cr_equal(&profile->totals[i], &totals[i], weight_squared);
	}
	profile_free(profile);
}

Test(profile_file, gives_samples_in_the_order_of_time)
{
	struct profile_sample read[ARRAY_SIZE(samples)], *next = read;
	struct error err = ERROR_INIT;

	write_profile("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile_each_sample(profile, collect, &next, &err), 0, "%s", err.message);
	cr_assert_eq(next - read, ARRAY_SIZE(samples));
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		const struct profile_sample *expected = &samples[ARRAY_SIZE(samples) - 1 - i];

		cr_equal(&read[i], expected, time_us);
		cr_equal(&read[i], expected, thread);
		cr_equal(&read[i], expected, stack);
		cr_equal(&read[i], expected, event);
		cr_equal(&read[i], expected, weight);
	}
	profile_free(profile);
}

static int stop_at_once(void *context, const struct profile_sample *sample)
{
	(void)sample;
	++*(int *)context;
	return 42;
}

Test(profile_file, stops_giving_samples_when_told)
{
	int calls = 0;

	write_profile("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile_each_sample(profile, stop_at_once, &calls, NULL), 42);
	cr_assert_eq(calls, 1);
	profile_free(profile);
}

static void assert_same_heap(const struct profile_heap *read, const struct profile_heap *expected)
{
	cr_equal(read, expected, process);
	cr_equal(read, expected, allocations);
	cr_equal(read, expected, frees);
	cr_equal(read, expected, reallocations);
	cr_equal(read, expected, allocated_bytes);
	cr_equal(read, expected, freed_bytes);
	cr_equal(read, expected, peak_bytes);
	cr_equal(read, expected, peak_blocks);
	cr_equal(read, expected, peak_time_us);
	cr_equal(read, expected, peak_exact);
	cr_equal(read, expected, live_bytes);
	cr_equal(read, expected, live_blocks);
	cr_equal(read, expected, temporary);
	for (int i = 0; i < PROFILE_NR_LIFETIMES; i++) {
		cr_equal(read, expected, churn[i].bytes);
		cr_equal(read, expected, churn[i].blocks);
	}
	cr_equal(read, expected, unknown_frees);
	cr_equal(read, expected, late_events);
	cr_equal(read, expected, lost_events);
	cr_equal(read, expected, stall_us);
	cr_equal(read, expected, inherited_bytes);
	cr_equal(read, expected, inherited_frees);
	cr_equal(read, expected, counted_allocations);
	cr_equal(read, expected, counted_frees);
	cr_equal(read, expected, counted_bytes);
}

Test(profile_file, gives_back_heaps_with_the_tree_first)
{
	write_profile("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_heaps, ARRAY_SIZE(heaps));
	for (size_t i = 0; i < ARRAY_SIZE(heaps); i++)
		assert_same_heap(&profile->heaps[i], &heaps[i]);
	profile_free(profile);
}

Test(profile_file, gives_back_heap_sites)
{
	write_profile("p");

	struct profile *profile = read_profile("p");
	const struct profile_heap_site *read = profile->heap_sites;

	cr_assert_eq(profile->nr_heap_sites, 1);
	cr_equal(read, heap_sites, process);
	cr_equal(read, heap_sites, stack);
	cr_equal(read, heap_sites, allocator);
	cr_equal(read, heap_sites, allocations);
	cr_equal(read, heap_sites, frees);
	cr_equal(read, heap_sites, reallocations);
	cr_equal(read, heap_sites, allocated_bytes);
	cr_equal(read, heap_sites, freed_bytes);
	cr_equal(read, heap_sites, at_peak_bytes);
	cr_equal(read, heap_sites, at_peak_blocks);
	cr_equal(read, heap_sites, at_tree_peak_bytes);
	cr_equal(read, heap_sites, at_tree_peak_blocks);
	cr_equal(read, heap_sites, live_bytes);
	cr_equal(read, heap_sites, live_blocks);
	cr_equal(read, heap_sites, temporary);
	cr_equal(read, heap_sites, lifetime_us);
	cr_equal(read, heap_sites, lifetime_blocks);
	profile_free(profile);
}

Test(profile_file, gives_back_functions_and_frames)
{
	write_profile("p");

	struct profile *profile = read_profile("p");
	const uint32_t first_frame[] = { 0, 2, 3, 3, 3, 3 };

	cr_assert_eq(profile->nr_functions, ARRAY_SIZE(functions));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct profile_function *read = &profile->functions[i];

		cr_equal(read, &functions[i], id);
		cr_equal(read, &functions[i], module);
		cr_same(read, &functions[i], name);
		cr_same(read, &functions[i], linkage_name);
		cr_equal(read, &functions[i], has_name);
		cr_same(read, &functions[i], file);
		cr_equal(read, &functions[i], line);
	}
	cr_assert_eq(profile->nr_frames, ARRAY_SIZE(frames));
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		const struct profile_frame *read = &profile->frames[i];

		cr_equal(read, &frames[i], address);
		cr_equal(read, &frames[i], depth);
		cr_equal(read, &frames[i], function);
		cr_same(read, &frames[i], file);
		cr_equal(read, &frames[i], line);
	}
	cr_assert_arr_eq(profile->first_frame, first_frame, sizeof(first_frame));
	profile_free(profile);
}

Test(profile_file, gives_back_quality)
{
	write_profile("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_quality, 2);
	cr_assert_eq(profile->quality[0].kind, PROFILE_LOST);
	cr_assert_eq(profile->quality[0].count, 1);
	cr_assert_str_eq(profile->quality[0].detail, "");
	cr_assert_eq(profile->quality[1].count, 12);
	cr_assert_str_eq(profile->quality[1].detail, "ring full");
	profile_free(profile);
}

Test(profile_file, knows_the_work_of_cprof_itself)
{
	write_profile("p");

	struct profile *profile = read_profile("p");

	cr_assert_not(profile_is_overhead(profile, 0)); /* truncated */
	cr_assert_not(profile_is_overhead(profile, 1)); /* app */
	cr_assert_not(profile_is_overhead(profile, 2)); /* kernel, called by app */
	cr_assert(profile_is_overhead(profile, 3));	/* the shim */
	cr_assert(profile_is_overhead(profile, 4));	/* kernel, called by the shim */
	profile_free(profile);
}

Test(profile_file, of_nothing_is_a_profile)
{
	writer_close(open_writer("p"));

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->run.exit_status, -1);
	cr_assert_not(profile->run.complete);
	cr_assert_not(profile->symbolized);
	cr_assert_eq(profile->nr_stacks, 0);
	cr_assert_eq(profile->first_frame[0], 0);
	profile_free(profile);
}
