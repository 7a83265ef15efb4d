/* SPDX-License-Identifier: MIT */
#include "report/analyze/cpu.h"

#include <math.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "toy_profile.h"

#define near(value, expected) cr_expect(lt(dbl, fabs((value) - (expected)), 1e-9))

struct fixture {
	struct selection selection;
	struct chains chains;
	struct cpu cpu;
};

static struct fixture analyze(struct toy *toy, const struct select_options *options, bool no_inline)
{
	const struct profile *profile = toy_profile(toy);
	struct fixture f;

	cr_assert(eq(int, selection_init(&f.selection, profile, options, NULL), 0));
	chains_init(&f.chains, profile, no_inline);
	cpu_analyze(&f.cpu, profile, &f.chains, &f.selection);
	return f;
}

static void release(struct fixture *f, struct toy *toy)
{
	cpu_release(&f->cpu);
	chains_release(&f->chains);
	selection_release(&f->selection);
	toy_free(toy);
}

static const struct cpu_function *function(const struct fixture *f, const char *name)
{
	for (size_t i = 0; i < f->cpu.functions.nr; i++) {
		const struct cpu_function *row = f->cpu.functions.at[i];

		if (!strcmp(row->name, name))
			return row;
	}
	return NULL;
}

static const struct select_options everything;

Test(report_cpu, self_is_where_samples_fell_and_total_is_all_above_them)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "main", "a", NULL), "cycles", 30, 10);
	toy_sample(toy, toy_stack(toy, "main", "a", "b", NULL), "cycles", 60, 10);
	toy_sample(toy, toy_stack(toy, "main", NULL), "cycles", 10, 10);
	f = analyze(toy, &everything, false);

	near(function(&f, "a")->self, 0.3);
	near(function(&f, "a")->total, 0.9);
	near(function(&f, "b")->self, 0.6);
	near(function(&f, "b")->total, 0.6);
	near(function(&f, "main")->self, 0.1);
	near(function(&f, "main")->total, 1);
	cr_expect(eq(u64, function(&f, "b")->samples, 60));
	cr_expect(eq(u64, function(&f, "b")->self_weight, 600));
	cr_expect(eq(str, (char *)((const struct cpu_function *)f.cpu.functions.at[0])->name, "b"));
	release(&f, toy);
}

Test(report_cpu, recursion_counts_once_in_total)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "main", "f", "g", "f", "g", "f", NULL), "cycles", 40, 1);
	toy_sample(toy, toy_stack(toy, "main", "f", NULL), "cycles", 60, 1);
	f = analyze(toy, &everything, false);

	near(function(&f, "f")->total, 1);
	near(function(&f, "f")->self, 1);
	near(function(&f, "g")->total, 0.4);
	near(function(&f, "g")->self, 0);
	release(&f, toy);
}

Test(report_cpu, self_belongs_to_the_innermost_inlined_function)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "main", "outer@a.c:5|middle@a.h:3|inner@b.h:7", NULL),
		   "cycles", 75, 1);
	toy_sample(toy, toy_stack(toy, "main", "outer@a.c:9", NULL), "cycles", 25, 1);
	f = analyze(toy, &everything, false);

	near(function(&f, "inner")->self, 0.75);
	near(function(&f, "middle")->self, 0);
	near(function(&f, "middle")->total, 0.75);
	near(function(&f, "outer")->self, 0.25);
	near(function(&f, "outer")->total, 1);
	release(&f, toy);
}

Test(report_cpu, no_inline_folds_inlined_functions_into_the_real_one)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "main", "outer@a.c:5|inner@b.h:7", NULL), "cycles", 75, 1);
	toy_sample(toy, toy_stack(toy, "main", NULL), "cycles", 25, 1);
	f = analyze(toy, &everything, true);

	near(function(&f, "outer")->self, 0.75);
	cr_expect(eq(ptr, (void *)function(&f, "inner"), NULL));
	release(&f, toy);
}

Test(report_cpu, what_cprof_does_is_in_no_share)
{
	struct toy *toy = toy_new();
	uint32_t shim, syscall, real;
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_module_kind(toy, "libcprof-heap.so", PROFILE_MODULE_SELF);
	toy_module_kind(toy, "[kernel]", PROFILE_MODULE_KERNEL);
	shim = toy_stack(toy, "main", "libcprof-heap.so:malloc", NULL);
	syscall = toy_stack(toy, "main", "libcprof-heap.so:malloc", "[kernel]:do_futex", NULL);
	real = toy_stack(toy, "main", "libcprof-heap.so:malloc", "libc.so.6:malloc", NULL);
	toy_sample(toy, shim, "cycles", 20, 1);
	toy_sample(toy, syscall, "cycles", 5, 1);
	toy_sample(toy, real, "cycles", 60, 1);
	toy_sample(toy, toy_stack(toy, "main", "[kernel]:do_read", NULL), "cycles", 15, 1);
	f = analyze(toy, &everything, false);

	cr_expect(eq(u64, f.cpu.samples, 75));
	cr_expect(eq(u64, f.cpu.overhead_samples, 25));
	near(f.cpu.overhead_share, 0.25);
	near(function(&f, "main")->total, 1);
	near(function(&f, "malloc")->self, 60.0 / 75); /* libc's */
	cr_expect(eq(str, (char *)function(&f, "malloc")->module, "libc.so.6"));
	near(function(&f, "do_read")->self, 15.0 / 75);
	cr_expect(eq(ptr, (void *)function(&f, "do_futex"), NULL));
	release(&f, toy);
}

Test(report_cpu, what_cprof_does_is_in_no_time_on_cpu)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_event(toy, "cpu-clock", "ns")->value = 8e8;
	toy_module_kind(toy, "libcprof-heap.so", PROFILE_MODULE_SELF);
	toy_sample(toy, toy_stack(toy, "main", "libcprof-heap.so:malloc", NULL), "cpu-clock", 25,
		   1000000);
	toy_sample(toy, toy_stack(toy, "main", NULL), "cpu-clock", 75, 1000000);
	f = analyze(toy, &everything, false);

	near(f.cpu.seconds.value, 0.6);
	release(&f, toy);
}

/* Of 800 ms, with a quarter of this event in cprof's shim. */
static struct fixture with_quarter_in_shim(struct toy *toy, const char *event, const char *unit)
{
	toy_event(toy, event, unit);
	toy_event(toy, "task-clock", "ns")->value = 8e8;
	toy_module_kind(toy, "libcprof-heap.so", PROFILE_MODULE_SELF);
	toy_sample(toy, toy_stack(toy, "main", "libcprof-heap.so:malloc", NULL), event, 25, 10);
	toy_sample(toy, toy_stack(toy, "main", NULL), event, 75, 10);
	return analyze(toy, &everything, false);
}

Test(report_cpu, only_samples_of_time_tell_cprofs_part_of_it)
{
	static const struct {
		const char *name, *unit;
		double seconds;
	} events[] = { { "cycles", "cycles", 0.6 },    { "cycles:u", "cycles", 0.6 },
		       { "cpu-clock", "ns", 0.6 },     { "cpu_core/cycles/", "cycles", 0.6 },
		       { "instructions", "", 0.8 },    { "page-faults", "", 0.8 },
		       { "context-switches", "", 0.8 } };

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct toy *toy = toy_new();
		struct fixture f;

		toy_run(toy)->heap_tracked = true;
		f = with_quarter_in_shim(toy, events[i].name, events[i].unit);
		near(f.cpu.seconds.value, events[i].seconds);
		cr_expect(eq(int, f.cpu.seconds_with_overhead, events[i].seconds > 0.7), "%s",
			  events[i].name);
		release(&f, toy);
	}
}

Test(report_cpu, without_the_shim_there_is_none_of_cprof_in_the_time)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_run(toy)->heap_tracked = false;
	toy_event(toy, "page-faults", "");
	toy_event(toy, "task-clock", "ns")->value = 8e8;
	toy_sample(toy, toy_stack(toy, "main", NULL), "page-faults", 75, 10);
	f = analyze(toy, &everything, false);

	near(f.cpu.seconds.value, 0.8);
	cr_expect(not(f.cpu.seconds_with_overhead));
	release(&f, toy);
}

Test(report_cpu, rates_come_from_each_events_own_samples)
{
	struct toy *toy = toy_new();
	uint32_t a, b;
	struct fixture f;

	toy_event(toy, "cycles:u", "cycles")->value = 3000;
	toy_event(toy, "instructions:u", "")->value = 6000;
	toy_event(toy, "branch-misses:u", "")->value = 30;
	toy_event(toy, "cache-misses:u", "")->value = 3;
	a = toy_stack(toy, "main", "a", NULL);
	b = toy_stack(toy, "main", "b", NULL);
	toy_sample(toy, a, "cycles:u", 40, 100);
	toy_sample(toy, a, "instructions:u", 50, 160);
	toy_sample(toy, a, "branch-misses:u", 30, 2);
	toy_sample(toy, a, "cache-misses:u", 29, 2);
	toy_sample(toy, b, "cycles:u", 29, 100);
	toy_sample(toy, b, "instructions:u", 300, 160);
	f = analyze(toy, &everything, false);

	near(function(&f, "a")->ipc.value, 50.0 * 160 / (40 * 100));
	near(function(&f, "a")->branch_mpki.value, 1000.0 * 60 / 8000);
	cr_expect(eq(ptr, (void *)function(&f, "a")->ipc.absent, NULL));
	cr_expect(eq(str, (char *)function(&f, "a")->cache_mpki.absent, "too few samples"));
	cr_expect(eq(str, (char *)function(&f, "a")->reason, "too few samples"));
	cr_expect(eq(str, (char *)function(&f, "b")->ipc.absent, "too few samples"));

	near(f.cpu.ipc.value, 2); /* of the counters, not of the samples */
	near(f.cpu.branch_mpki.value, 5);
	release(&f, toy);
}

Test(report_cpu, without_a_pmu_there_is_no_ipc_but_the_reason)
{
	static const char why[] = "no hardware PMU: sampled cpu-clock; IPC not available";
	struct toy *toy = toy_new();
	struct profile_event *event = toy_event(toy, "cpu-clock", "ns");
	struct fixture f;

	event->substituted_for = "cycles";
	event->reason = why;
	event->value = 5e8;
	toy_sample(toy, toy_stack(toy, "main", NULL), "cpu-clock", 500, 1000000);
	f = analyze(toy, &everything, false);

	cr_expect(eq(str, (char *)f.cpu.event, "cpu-clock"));
	cr_expect(eq(str, (char *)f.cpu.substituted_for, "cycles"));
	cr_expect(eq(str, (char *)f.cpu.ipc.absent, (char *)why));
	cr_expect(eq(str, (char *)function(&f, "main")->ipc.absent, (char *)why));
	near(f.cpu.seconds.value, 0.5);
	cr_expect(eq(str, (char *)cpu_counter(&f.cpu, "cycles")->status, "not-counted"));
	release(&f, toy);
}

Test(report_cpu, cpu_off_says_why_and_lists_nothing)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_run(toy)->cpu_on = false;
	toy_run(toy)->cpu_reason = "perf_event_paranoid is 3";
	f = analyze(toy, &everything, false);

	cr_expect(eq(ptr, (void *)f.cpu.event, NULL));
	cr_expect(not(f.cpu.sampled));
	cr_expect(eq(str, (char *)f.cpu.reason, "perf_event_paranoid is 3"));
	cr_expect(eq(sz, f.cpu.functions.nr, 0));
	release(&f, toy);
}

Test(report_cpu, functions_within_each_others_error_are_tied)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "big", NULL), "cycles", 600, 1);
	toy_sample(toy, toy_stack(toy, "one", NULL), "cycles", 152, 1);
	toy_sample(toy, toy_stack(toy, "two", NULL), "cycles", 148, 1);
	toy_sample(toy, toy_stack(toy, "small", NULL), "cycles", 60, 1);
	toy_sample(toy, toy_stack(toy, "heavy", NULL), "cycles", 1, 40); /* one sample */
	f = analyze(toy, &everything, false);

	cr_expect(not(function(&f, "big")->tied));
	cr_expect(eq(u32, function(&f, "one")->rank, 2));
	cr_expect(eq(u32, function(&f, "two")->rank, 2));
	cr_expect(function(&f, "one")->tied && function(&f, "two")->tied);
	cr_expect(eq(u32, function(&f, "small")->rank, 4));
	cr_expect(eq(u32, function(&f, "heavy")->rank, 4));
	/* a share from one sample is uncertain by itself, one from 60 is not */
	cr_expect(gt(dbl, function(&f, "heavy")->error, 2 * function(&f, "small")->error));
	release(&f, toy);
}

Test(report_cpu, the_error_is_the_half_width_of_the_interval_of_self)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "a", NULL), "cycles", 3000, 5);
	toy_sample(toy, toy_stack(toy, "b", NULL), "cycles", 7000, 5);
	f = analyze(toy, &everything, false);

	cr_expect(lt(dbl, fabs(function(&f, "a")->error - 1.96 * sqrt(0.21 / 10000)), 1e-5));
	release(&f, toy);
}

Test(report_cpu, unnamed_code_is_a_row_by_function_and_summed_up)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "main", "libx.so:libx.so+0x2a340", NULL), "cycles", 20, 1);
	toy_sample(toy, toy_stack(toy, "main", "libx.so:?77", NULL), "cycles", 10, 1);
	toy_sample(toy, toy_stack(toy, "main", NULL), "cycles", 70, 1);
	f = analyze(toy, &everything, false);

	near(function(&f, "libx.so+0x2a340")->self, 0.2);
	near(function(&f, "libx.so+0x77")->self, 0.1);
	cr_expect(eq(u64, f.cpu.unnamed_samples, 30));
	near(f.cpu.unnamed_share, 0.3);
	release(&f, toy);
}

Test(report_cpu, stacks_without_their_root_are_counted)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "...", "a", "b", NULL), "cycles", 3, 1);
	toy_sample(toy, toy_stack(toy, "main", "...7", "b", NULL), "cycles", 5, 1);
	f = analyze(toy, &everything, false);

	cr_expect(eq(u64, f.cpu.truncated, 3));
	near(function(&f, "b")->total, 1);
	cr_expect(eq(sz, f.cpu.functions.nr, 3)); /* a, b, main; nothing for what is missing */
	release(&f, toy);
}

Test(report_cpu, a_thread_can_be_looked_at_alone)
{
	struct toy *toy = toy_new();
	uint32_t worker = toy_thread(toy, 0, 101, "worker");
	uint32_t stack = toy_stack(toy, "main", "a", NULL);
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, stack, "cycles", 30, 1);
	toy_sample_thread(toy, stack, worker, "cycles", 5, 1);
	toy_sample_thread(toy, toy_stack(toy, "main", "b", NULL), worker, "cycles", 15, 1);
	f = analyze(toy, &(struct select_options){ .comm = "worker" }, false);

	cr_expect(eq(u64, f.cpu.samples, 20));
	near(function(&f, "b")->self, 0.75);
	cr_expect(f.selection.by_thread);
	release(&f, toy);
}

Test(report_cpu, selecting_nothing_is_an_error_that_names_what_there_is)
{
	struct toy *toy = toy_new();
	struct selection selection;
	struct error err = ERROR_INIT;

	toy_thread(toy, 0, 101, "worker");
	cr_expect(lt(int,
		     selection_init(&selection, toy_profile(toy),
				    &(struct select_options){ .comm = "wroker" }, &err),
		     0));
	cr_expect(eq(str, err.message, "the profile has no thread with the name 'wroker'"));
	cr_expect(eq(str, err.hint, "there are: app, worker"));
	toy_free(toy);
}

Test(report_cpu, processes_have_their_share)
{
	struct toy *toy = toy_new();
	uint32_t child = toy_process(toy, "cc1", 200, 0)->id;
	uint32_t thread = toy_thread(toy, child, 200, "cc1");
	uint32_t stack = toy_stack(toy, "main", NULL);
	struct fixture f;

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, stack, "cycles", 25, 2);
	toy_sample_thread(toy, stack, thread, "cycles", 75, 2);
	f = analyze(toy, &everything, false);

	near(f.cpu.processes[0].share, 0.25);
	near(f.cpu.processes[child].share, 0.75);
	cr_expect(eq(u64, f.cpu.processes[child].samples, 75));
	release(&f, toy);
}

Test(report_cpu, processes_that_were_not_followed_have_none)
{
	struct toy *toy = toy_new();
	uint32_t child = toy_process(toy, "cc1", 200, 0)->id;
	struct fixture f;

	toy_run(toy)->no_inherit = true;
	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "main", NULL), "cycles", 25, 2);
	f = analyze(toy, &everything, false);

	cr_expect(f.cpu.processes[0].sampled);
	near(f.cpu.processes[0].share, 1);
	cr_expect(not(f.cpu.processes[child].sampled));
	release(&f, toy);
}

Test(report_cpu, only_samples_count_as_lost_samples)
{
	struct toy *toy = toy_new();

	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, toy_stack(toy, "main", NULL), "cycles", 100, 1000);
	toy_quality(toy, PROFILE_LOST, 3, PROFILE_LOST_SAMPLES);
	toy_quality(toy, PROFILE_LOST, 50, "heap of ./app: events lost");
	toy_quality(toy, PROFILE_LOST, 7, "records of processes and mappings dropped");

	struct fixture f = analyze(toy, &everything, false);

	cr_assert(eq(u64, f.cpu.lost, 3));
	release(&f, toy);
}
