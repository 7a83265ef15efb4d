/* SPDX-License-Identifier: MIT */
#include "tests/unit/sample_profile.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"

#define NOT_UTF8 "caf\xe9"

const struct profile_run sample_run = {
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
	.no_inherit = true,
	.heap_mode = "exact",
	.heap_tracked = true,
	.heap_reason = NULL,
};

const struct profile_event sample_events[] = {
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

const struct profile_process sample_processes[] = {
	{ .id = 0,
	  .parent = PROFILE_NONE,
	  .pid = 4711,
	  .image = 0,
	  .executable = "/tmp/" NOT_UTF8,
	  .arguments = arguments,
	  .nr_arguments = 4,
	  .start_us = 0,
	  .end_us = 99,
	  .executed = true,
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
	  .replaced = true,
	  .exit_status = -1,
	  .signal = 0,
	  .tracked = false,
	  .untracked_reason = "static executable" },
};

const struct profile_thread sample_threads[] = {
	{ 0, 0, 4711, "app", 0, 98 },
	{ 1, 1, 4712, NULL, PROFILE_NO_TIME, PROFILE_NO_TIME },
};

const struct profile_module sample_modules[] = {
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

const struct profile_address sample_addresses[] = {
	{ 0, PROFILE_ADDRESS_CODE, 0, 0x1234 },
	{ 1, PROFILE_ADDRESS_CODE, 2, UINT64_C(0xffffffff81000000) },
	{ 2, PROFILE_ADDRESS_TRUNCATED, PROFILE_NONE, 5 },
	{ 3, PROFILE_ADDRESS_ELIDED, PROFILE_NONE, 100000 },
	{ 4, PROFILE_ADDRESS_CODE, 1, 0x10 },
};

const struct profile_stack sample_stacks[] = {
	{ 0, PROFILE_NONE, 2 }, { 1, 0, 0 }, { 2, 1, 1 }, { 3, 1, 4 }, { 4, 3, 1 },
};

const struct profile_first_sample sample_first_samples[] = {
	{ 0, { 500, 0, 1, 0, 1003009 } },
	{ 1, { 400, 1, 2, 1, 1 } },
	{ 2, { -3, 0, 4, 0, UINT64_C(0x8000000000000001) } },
};

/* The last two are put where there is room. */
const struct profile_later_sample sample_later_samples[] = {
	{ 700, 0, PROFILE_UNKNOWN },
	{ 450, 1, UINT64_C(0x8000000000000000) },
	{ 700, 1, 0 },
	{ 700, 0, 7 },
};

const struct profile_sample_sum sample_sample_sums[] = {
	{ 0, 3, 2006025, 2.0e12 },
	{ 1, UINT64_MAX, 0, 0 },
};

/* What they are together. */
const struct profile_sample sample_samples[] = {
	{ -3, 0, 4, 0, UINT64_C(0x8000000000000001) },
	{ 400, 1, 2, 1, 1 },
	{ 450, 1, 2, 1, UINT64_C(0x8000000000000000) },
	{ 500, 0, 1, 0, 1003009 },
	{ 700, 0, 1, 0, 1003009 },
	{ 701, 1, 2, 1, 0 },
	{ 702, 0, 1, 0, 7 },
};

const struct profile_total sample_totals[] = {
	{ 1, 0, 0, 3, 2006025, 2.0e12 },
	{ 2, 1, 1, UINT64_MAX, 0, 0 },
	{ 4, 0, 0, 1, UINT64_C(0x8000000000000001), 0x1p126 },
};

const struct profile_heap sample_heaps[] = {
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
	  .counted_bytes = 28,
	  .allocator = "libc.so.6",
	  .slack_known = true },
	{ .process = 1, .peak_time_us = PROFILE_NO_TIME },
};

const struct profile_heap_site sample_heap_sites[] = {
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
	  .lifetime_blocks = 14,
	  .moved = 15,
	  .copied_bytes = 16,
	  .at_peak_slack_bytes = 17,
	  .at_tree_peak_slack_bytes = 18,
	  .cross_thread_frees = 21,
	  .page_faults = 22,
	  .sizes = { (const struct profile_class[]){ { 16, 19 }, { 64, UINT64_MAX } }, 2 },
	  .lifetimes = { (const struct profile_class[]){ { UINT64_MAX, 20 } }, 1 } },
};

const struct profile_heap_size sample_heap_sizes[] = {
	{ 0, 16, 1, 2, 3 },
	{ 0, 32, 4, 5, 6 },
	{ 1, UINT64_C(1) << 48, 7, UINT64_MAX, 9 },
};

/* In the order in which they are read. */
const struct profile_heap_thread sample_heap_threads[] = {
	{ 0, 4711, 1, 2, 3, 4, 5, 6 },
	{ 1, 4713, 7, 8, 9, 10, UINT64_MAX, 12 },
};

const struct profile_heap_handoff sample_heap_handoffs[] = {
	{ 0, PROFILE_OTHER_THREADS, PROFILE_OTHER_THREADS, 1, 2 },
	{ 0, 4711, 4712, 3, UINT64_MAX },
};

const struct profile_slice sample_slices[] = {
	{ PROFILE_NONE, 0, 2000, 3, 4, 5, 6 },
	{ PROFILE_NONE, 4000, 2000, 0, UINT64_MAX, 5, 6 },
	{ 1, 1000, 1000, 13, 14, 15, 16 },
};

const struct profile_memory sample_memory[] = {
	{ 0, 10, 1, 2, 3, 4, 5 },
	{ 0, 20, 11, 12, 13, 14, UINT64_MAX },
};

const struct profile_function sample_functions[] = {
	{ 0, 0, "f(int)", "_Z1fi", true, "a.c", 10 },
	{ 1, 2, "[kernel]+0x10", NULL, false, NULL, 0 },
};

const struct profile_frame sample_frames[] = {
	{ 0, 0, 0, "a.c", 12 },
	{ 0, 1, 1, NULL, 0 },
	{ 1, 0, 1, "b.c", 0 },
};

const struct profile_quality sample_quality[] = {
	{ PROFILE_LOST, 12, "ring full" },
	{ PROFILE_LOST, 1, "" },
};

#define PUT_ALL(name, rows)                           \
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) \
	writer_put_##name(writer, &(rows)[i])

void sample_profile_put(struct writer *writer)
{
	writer_put_run(writer, &sample_run);
	PUT_ALL(event, sample_events);
	PUT_ALL(process, sample_processes);
	PUT_ALL(thread, sample_threads);
	PUT_ALL(module, sample_modules);
	PUT_ALL(address, sample_addresses);
	PUT_ALL(stack, sample_stacks);
	PUT_ALL(first_sample, sample_first_samples);
	PUT_ALL(later_sample, sample_later_samples);
	PUT_ALL(sample_sum, sample_sample_sums);
	PUT_ALL(heap, sample_heaps);
	PUT_ALL(heap_site, sample_heap_sites);
	PUT_ALL(heap_size, sample_heap_sizes);
	PUT_ALL(heap_thread, sample_heap_threads);
	PUT_ALL(heap_handoff, sample_heap_handoffs);
	PUT_ALL(slice, sample_slices);
	PUT_ALL(memory, sample_memory);
	PUT_ALL(quality, sample_quality);
	writer_put_meta(writer, "doctor", "all is well");
	writer_clear_symbols(writer);
	PUT_ALL(function, sample_functions);
	PUT_ALL(frame, sample_frames);
}

struct writer *sample_profile_writer(const char *path)
{
	struct error err = ERROR_INIT;
	struct writer *writer;

	cr_assert_eq(writer_open(&writer, path, &err), 0, "%s", err.message);
	return writer;
}

void sample_profile_commit(struct writer *writer)
{
	struct error err = ERROR_INIT;

	cr_assert_eq(writer_commit(writer, &err), 0, "%s", err.message);
}

void sample_profile_write(const char *path)
{
	struct writer *writer = sample_profile_writer(path);

	writer_begin(writer);
	sample_profile_put(writer);
	sample_profile_commit(writer);
	writer_close(writer);
}

static char folder[] = "/tmp/cprof-test-XXXXXX";

void enter_test_folder(void)
{
	cr_assert(mkdtemp(folder) && !chdir(folder));
}

void leave_test_folder(void)
{
	char *command = xasprintf("rm -rf %s", folder);

	cr_assert(system(command) == 0);
	free(command);
}
