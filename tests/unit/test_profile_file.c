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
#include "tests/unit/sample_profile.h"

TestSuite(profile_file, .init = enter_test_folder, .fini = leave_test_folder);

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
	sample_profile_write("p");

	struct profile *profile = read_profile("p");
	const struct profile_run *read = &profile->run;

	cr_same(read, &sample_run, cprof_version);
	cr_same(read, &sample_run, host);
	cr_same(read, &sample_run, kernel);
	cr_same(read, &sample_run, cpu_model);
	cr_equal(read, &sample_run, nr_cpus);
	cr_equal(read, &sample_run, start_realtime_us);
	cr_equal(read, &sample_run, start_monotonic_ns);
	cr_equal(read, &sample_run, wall_us);
	cr_same(read, &sample_run, options);
	cr_equal(read, &sample_run, exit_status);
	cr_equal(read, &sample_run, signal);
	cr_equal(read, &sample_run, complete);
	cr_equal(read, &sample_run, cpu_on);
	cr_same(read, &sample_run, cpu_reason);
	cr_equal(read, &sample_run, user_only);
	cr_equal(read, &sample_run, no_inherit);
	cr_same(read, &sample_run, heap_mode);
	cr_equal(read, &sample_run, heap_tracked);
	cr_same(read, &sample_run, heap_reason);
	cr_assert(profile->symbolized);
	cr_assert_not(profile->in_progress);
	cr_assert_str_eq(profile_meta_value(profile, "doctor"), "all is well");
	cr_assert_null(profile_meta_value(profile, "host"));
	profile_free(profile);
}

Test(profile_file, gives_back_events)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_events, ARRAY_SIZE(sample_events));
	for (size_t i = 0; i < ARRAY_SIZE(sample_events); i++) {
		const struct profile_event *read = &profile->events[i];

		cr_equal(read, &sample_events[i], id);
		cr_same(read, &sample_events[i], name);
		cr_same(read, &sample_events[i], unit);
		cr_same(read, &sample_events[i], substituted_for);
		cr_same(read, &sample_events[i], reason);
		cr_equal(read, &sample_events[i], status);
		cr_equal(read, &sample_events[i], value);
		cr_equal(read, &sample_events[i], coverage);
		cr_equal(read, &sample_events[i], frequency_hz);
		cr_equal(read, &sample_events[i], period);
		cr_equal(read, &sample_events[i], precise);
	}
	profile_free(profile);
}

Test(profile_file, gives_back_processes_with_their_arguments)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_processes, ARRAY_SIZE(sample_processes));
	for (size_t i = 0; i < ARRAY_SIZE(sample_processes); i++) {
		const struct profile_process *read = &profile->processes[i];

		cr_equal(read, &sample_processes[i], id);
		cr_equal(read, &sample_processes[i], parent);
		cr_equal(read, &sample_processes[i], pid);
		cr_equal(read, &sample_processes[i], image);
		cr_same(read, &sample_processes[i], executable);
		cr_equal(read, &sample_processes[i], start_us);
		cr_equal(read, &sample_processes[i], end_us);
		cr_equal(read, &sample_processes[i], executed);
		cr_equal(read, &sample_processes[i], replaced);
		cr_equal(read, &sample_processes[i], exit_status);
		cr_equal(read, &sample_processes[i], signal);
		cr_equal(read, &sample_processes[i], tracked);
		cr_same(read, &sample_processes[i], untracked_reason);
		cr_equal(read, &sample_processes[i], nr_arguments);
		for (size_t k = 0; k < read->nr_arguments; k++)
			cr_assert_str_eq(read->arguments[k], sample_processes[i].arguments[k]);
	}
	profile_free(profile);
}

Test(profile_file, gives_back_threads_and_modules)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_threads, ARRAY_SIZE(sample_threads));
	for (size_t i = 0; i < ARRAY_SIZE(sample_threads); i++) {
		const struct profile_thread *read = &profile->threads[i];

		cr_equal(read, &sample_threads[i], id);
		cr_equal(read, &sample_threads[i], process);
		cr_equal(read, &sample_threads[i], tid);
		cr_same(read, &sample_threads[i], name);
		cr_equal(read, &sample_threads[i], start_us);
		cr_equal(read, &sample_threads[i], end_us);
	}
	cr_assert_eq(profile->nr_modules, ARRAY_SIZE(sample_modules));
	for (size_t i = 0; i < ARRAY_SIZE(sample_modules); i++) {
		const struct profile_module *read = &profile->modules[i];

		cr_equal(read, &sample_modules[i], id);
		cr_equal(read, &sample_modules[i], kind);
		cr_same(read, &sample_modules[i], path);
		cr_same(read, &sample_modules[i], name);
		cr_same(read, &sample_modules[i], build_id);
		cr_same(read, &sample_modules[i], open_path);
		cr_equal(read, &sample_modules[i], debug);
		cr_same(read, &sample_modules[i], debug_path);
		cr_same(read, &sample_modules[i], reason);
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
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_addresses, ARRAY_SIZE(sample_addresses));
	for (size_t i = 0; i < ARRAY_SIZE(sample_addresses); i++) {
		cr_equal(&profile->addresses[i], &sample_addresses[i], id);
		cr_equal(&profile->addresses[i], &sample_addresses[i], kind);
		cr_equal(&profile->addresses[i], &sample_addresses[i], module);
		cr_equal(&profile->addresses[i], &sample_addresses[i], value);
	}
	cr_assert_eq(profile->nr_stacks, ARRAY_SIZE(sample_stacks));
	cr_same_rows(profile->stacks, sample_stacks);
	cr_assert_eq(profile->nr_totals, ARRAY_SIZE(sample_totals));
	for (size_t i = 0; i < ARRAY_SIZE(sample_totals); i++) {
		cr_equal(&profile->totals[i], &sample_totals[i], stack);
		cr_equal(&profile->totals[i], &sample_totals[i], thread);
		cr_equal(&profile->totals[i], &sample_totals[i], event);
		cr_equal(&profile->totals[i], &sample_totals[i], samples);
		cr_equal(&profile->totals[i], &sample_totals[i], weight);
		cr_equal(&profile->totals[i], &sample_totals[i], weight_squared);
	}
	profile_free(profile);
}

Test(profile_file, gives_samples_in_the_order_of_time)
{
	struct profile_sample read[ARRAY_SIZE(sample_samples)], *next = read;
	struct error err = ERROR_INIT;

	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile_each_sample(profile, collect, &next, &err), 0, "%s", err.message);
	cr_assert_eq(next - read, ARRAY_SIZE(sample_samples));
	for (size_t i = 0; i < ARRAY_SIZE(sample_samples); i++) {
		const struct profile_sample *expected = &sample_samples[i];

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

enum {
	NR_SAME = 20,
	NR_WITHIN = 5,
	NR_BEFORE = 15,
	NR_LATER = NR_SAME + NR_WITHIN + NR_BEFORE,
	SAME_US = 100000, /* behind all others */
};

static void put_later(struct writer *writer, int nr, int64_t time_us)
{
	while (nr--)
		writer_put_later_sample(
			writer, &(struct profile_later_sample){ time_us, 0, PROFILE_UNKNOWN });
}

static int note_later(void *context, const struct profile_sample *sample)
{
	int *nr_at = context;

	if (sample->time_us >= SAME_US - 10)
		nr_at[sample->time_us - (SAME_US - 10)]++;
	return 0;
}

Test(profile_file, puts_samples_of_one_microsecond_at_the_next_free_ones)
{
	struct writer *writer = sample_profile_writer("p");
	struct error err = ERROR_INIT;
	int nr_at[NR_LATER + 1] = { 0 };

	writer_begin(writer);
	sample_profile_put(writer);
	put_later(writer, NR_SAME, SAME_US);
	put_later(writer, NR_WITHIN, SAME_US + 3);
	put_later(writer, NR_BEFORE, SAME_US - 10); /* goes on behind both */
	sample_profile_commit(writer);
	writer_close(writer);

	struct profile *profile = read_profile("p");
	cr_assert_eq(profile_each_sample(profile, note_later, nr_at, &err), 0, "%s", err.message);
	for (int i = 0; i <= NR_LATER; i++)
		cr_expect_eq(nr_at[i], i < NR_LATER, "%d samples at %d", nr_at[i], i);
	profile_free(profile);
}

Test(profile_file, stops_giving_samples_when_told)
{
	int calls = 0;

	sample_profile_write("p");

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
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_heaps, ARRAY_SIZE(sample_heaps));
	for (size_t i = 0; i < ARRAY_SIZE(sample_heaps); i++)
		assert_same_heap(&profile->heaps[i], &sample_heaps[i]);
	profile_free(profile);
}

static void assert_same_histogram(const struct profile_histogram *read,
				  const struct profile_histogram *written)
{
	cr_assert_eq(read->nr, written->nr);
	for (size_t i = 0; i < read->nr; i++) {
		cr_equal(read->at + i, written->at + i, bound);
		cr_equal(read->at + i, written->at + i, blocks);
	}
}

Test(profile_file, gives_back_heap_sites)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");
	const struct profile_heap_site *read = profile->heap_sites;

	cr_assert_eq(profile->nr_heap_sites, 1);
	cr_equal(read, sample_heap_sites, process);
	cr_equal(read, sample_heap_sites, stack);
	cr_equal(read, sample_heap_sites, allocator);
	cr_equal(read, sample_heap_sites, allocations);
	cr_equal(read, sample_heap_sites, frees);
	cr_equal(read, sample_heap_sites, reallocations);
	cr_equal(read, sample_heap_sites, allocated_bytes);
	cr_equal(read, sample_heap_sites, freed_bytes);
	cr_equal(read, sample_heap_sites, at_peak_bytes);
	cr_equal(read, sample_heap_sites, at_peak_blocks);
	cr_equal(read, sample_heap_sites, at_tree_peak_bytes);
	cr_equal(read, sample_heap_sites, at_tree_peak_blocks);
	cr_equal(read, sample_heap_sites, live_bytes);
	cr_equal(read, sample_heap_sites, live_blocks);
	cr_equal(read, sample_heap_sites, temporary);
	cr_equal(read, sample_heap_sites, cross_thread_frees);
	cr_equal(read, sample_heap_sites, page_faults);
	cr_equal(read, sample_heap_sites, lifetime_us);
	cr_equal(read, sample_heap_sites, lifetime_blocks);
	cr_equal(read, sample_heap_sites, moved);
	cr_equal(read, sample_heap_sites, copied_bytes);
	cr_equal(read, sample_heap_sites, at_peak_slack_bytes);
	cr_equal(read, sample_heap_sites, at_tree_peak_slack_bytes);
	assert_same_histogram(&read->sizes, &sample_heap_sites->sizes);
	assert_same_histogram(&read->lifetimes, &sample_heap_sites->lifetimes);
	profile_free(profile);
}

Test(profile_file, gives_back_heap_sizes)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_heap_sizes, ARRAY_SIZE(sample_heap_sizes));
	for (size_t i = 0; i < ARRAY_SIZE(sample_heap_sizes); i++) {
		const struct profile_heap_size *read = &profile->heap_sizes[i];

		cr_equal(read, &sample_heap_sizes[i], process);
		cr_equal(read, &sample_heap_sizes[i], most_bytes);
		cr_equal(read, &sample_heap_sizes[i], blocks);
		cr_equal(read, &sample_heap_sizes[i], bytes);
		cr_equal(read, &sample_heap_sizes[i], slack_bytes);
	}
	profile_free(profile);
}

Test(profile_file, gives_back_what_threads_did_to_the_heap)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_heap_threads, ARRAY_SIZE(sample_heap_threads));
	for (size_t i = 0; i < ARRAY_SIZE(sample_heap_threads); i++) {
		const struct profile_heap_thread *read = &profile->heap_threads[i];

		cr_equal(read, &sample_heap_threads[i], process);
		cr_equal(read, &sample_heap_threads[i], tid);
		cr_equal(read, &sample_heap_threads[i], allocations);
		cr_equal(read, &sample_heap_threads[i], frees);
		cr_equal(read, &sample_heap_threads[i], reallocations);
		cr_equal(read, &sample_heap_threads[i], allocated_bytes);
		cr_equal(read, &sample_heap_threads[i], freed_bytes);
		cr_equal(read, &sample_heap_threads[i], temporary);
	}
	profile_free(profile);
}

Test(profile_file, gives_back_who_frees_what_others_allocated)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_heap_handoffs, ARRAY_SIZE(sample_heap_handoffs));
	for (size_t i = 0; i < ARRAY_SIZE(sample_heap_handoffs); i++) {
		const struct profile_heap_handoff *read = &profile->heap_handoffs[i];

		cr_equal(read, &sample_heap_handoffs[i], process);
		cr_equal(read, &sample_heap_handoffs[i], from_tid);
		cr_equal(read, &sample_heap_handoffs[i], to_tid);
		cr_equal(read, &sample_heap_handoffs[i], frees);
		cr_equal(read, &sample_heap_handoffs[i], freed_bytes);
	}
	profile_free(profile);
}

Test(profile_file, gives_back_slices_with_the_tree_first)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_slices, ARRAY_SIZE(sample_slices));
	for (size_t i = 0; i < ARRAY_SIZE(sample_slices); i++) {
		const struct profile_slice *read = &profile->slices[i];

		cr_equal(read, &sample_slices[i], process);
		cr_equal(read, &sample_slices[i], time_us);
		cr_equal(read, &sample_slices[i], duration_us);
		cr_equal(read, &sample_slices[i], live_bytes);
		cr_equal(read, &sample_slices[i], max_live_bytes);
		cr_equal(read, &sample_slices[i], allocations);
		cr_equal(read, &sample_slices[i], allocated_bytes);
	}
	profile_free(profile);
}

Test(profile_file, gives_back_memory)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_memory, ARRAY_SIZE(sample_memory));
	for (size_t i = 0; i < ARRAY_SIZE(sample_memory); i++) {
		const struct profile_memory *read = &profile->memory[i];

		cr_equal(read, &sample_memory[i], process);
		cr_equal(read, &sample_memory[i], time_us);
		cr_equal(read, &sample_memory[i], anonymous_bytes);
		cr_equal(read, &sample_memory[i], file_bytes);
		cr_equal(read, &sample_memory[i], shared_bytes);
		cr_equal(read, &sample_memory[i], swap_bytes);
		cr_equal(read, &sample_memory[i], peak_rss_bytes);
	}
	profile_free(profile);
}

Test(profile_file, forgets_the_slices_and_the_memory_of_one_process)
{
	struct writer *writer = sample_profile_writer("p");

	writer_begin(writer);
	sample_profile_put(writer);
	writer_clear_slices(writer, PROFILE_NONE);
	writer_put_slice(writer, &(struct profile_slice){ PROFILE_NONE, 0, 4000, 1, 2, 3, 4 });
	writer_clear_memory(writer, 0);
	sample_profile_commit(writer);
	writer_close(writer);

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->nr_slices, 2);
	cr_assert_eq(profile->slices[0].duration_us, 4000);
	cr_assert_eq(profile->slices[1].process, 1);
	cr_assert_eq(profile->nr_memory, 0);
	profile_free(profile);
}

Test(profile_file, gives_back_functions_and_frames)
{
	sample_profile_write("p");

	struct profile *profile = read_profile("p");
	const uint32_t first_frame[] = { 0, 2, 3, 3, 3, 3 };

	cr_assert_eq(profile->nr_functions, ARRAY_SIZE(sample_functions));
	for (size_t i = 0; i < ARRAY_SIZE(sample_functions); i++) {
		const struct profile_function *read = &profile->functions[i];

		cr_equal(read, &sample_functions[i], id);
		cr_equal(read, &sample_functions[i], module);
		cr_same(read, &sample_functions[i], name);
		cr_same(read, &sample_functions[i], linkage_name);
		cr_equal(read, &sample_functions[i], has_name);
		cr_same(read, &sample_functions[i], file);
		cr_equal(read, &sample_functions[i], line);
	}
	cr_assert_eq(profile->nr_frames, ARRAY_SIZE(sample_frames));
	for (size_t i = 0; i < ARRAY_SIZE(sample_frames); i++) {
		const struct profile_frame *read = &profile->frames[i];

		cr_equal(read, &sample_frames[i], address);
		cr_equal(read, &sample_frames[i], depth);
		cr_equal(read, &sample_frames[i], function);
		cr_same(read, &sample_frames[i], file);
		cr_equal(read, &sample_frames[i], line);
	}
	cr_assert_arr_eq(profile->first_frame, first_frame, sizeof(first_frame));
	profile_free(profile);
}

Test(profile_file, gives_back_quality)
{
	sample_profile_write("p");

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
	sample_profile_write("p");

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
	writer_close(sample_profile_writer("p"));

	struct profile *profile = read_profile("p");

	cr_assert_eq(profile->run.exit_status, -1);
	cr_assert_not(profile->run.complete);
	cr_assert_not(profile->symbolized);
	cr_assert_eq(profile->nr_stacks, 0);
	cr_assert_eq(profile->first_frame[0], 0);
	profile_free(profile);
}
