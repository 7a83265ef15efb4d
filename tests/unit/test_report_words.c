/* SPDX-License-Identifier: MIT */
/* Single lines of reports: the words for what is few, or not known, or not there. */
#include "report/report.h"

#include "base/alloc.h"
#include "printed.h"

static const struct report_options summary;
static const struct report_options quality = { .view = "quality" };

static uint32_t sampled(struct toy *toy, uint64_t samples)
{
	uint32_t stack = toy_stack(toy, "main", NULL);

	toy_event(toy, "cpu-clock", "ns");
	toy_sample(toy, stack, "cpu-clock", samples, 1000000);
	return stack;
}

Test(report_words, a_process_that_executes_another_program_keeps_its_thread)
{
	struct toy *toy = toy_new();
	uint32_t child = toy_process(toy, "sh", 200, 0)->id, next;
	struct profile_process *image = toy_process(toy, "cc1", 200, 0);

	image->image = 1;
	next = image->id;
	toy_thread(toy, child, 200, "sh");
	toy_thread(toy, next, 200, "cc1");
	toy_thread(toy, next, 201, "cc1");
	says(toy, &summary, " · 2 processes · 3 threads · ");
	toy_free(toy);
}

Test(report_words, rows_that_are_not_shown_are_threads_of_the_program)
{
	struct toy *toy = toy_new();

	toy_thread(toy, 0, 101, "worker");
	says(toy, &((struct report_options){ .view = "threads", .limit = 1 }), " · 2 threads · ");
	toy_free(toy);
}

Test(report_words, one_sample_is_no_samples)
{
	struct toy *toy = toy_new();

	sampled(toy, 1);
	says(toy, &summary, " · 1 sample, 0 lost");
	toy_free(toy);
}

Test(report_words, what_went_on_has_not_ended)
{
	struct toy *toy = toy_new();

	toy_run(toy)->exit_status = -1;
	says(toy, &summary, "\nend not seen · 4.21 s · ");
	toy_free(toy);

	toy = toy_new();
	toy_run(toy)->exit_status = -1;
	toy_first_process(toy)->end_us = PROFILE_NO_TIME;
	says(toy, &summary, "\nrecorded for 4.21 s · then still running · ");
	toy_free(toy);
}

Test(report_words, time_in_the_kernel_is_counted_where_it_is_not_sampled)
{
	struct toy *toy = toy_new();

	toy_run(toy)->user_only = true;
	sampled(toy, 1910);
	toy_thread(toy, 0, 101, "worker");
	toy_event(toy, "task-clock", "ns")->value = 4600000000;
	says(toy, &summary,
	     "CPU   4.60 s on CPU\n"
	     "      1.91 s of it sampled, not in the kernel (kernel.perf_event_paranoid)\n");
	says(toy, &((struct report_options){ .pid = 100 }), "CPU   4.60 s on CPU\n");
	says(toy, &((struct report_options){ .comm = "app" }),
	     "CPU   1.91 s on CPU · without the kernel (kernel.perf_event_paranoid)\n");
	toy_free(toy);
}

Test(report_words, shares_that_are_not_of_time_say_what_they_are_of)
{
	struct toy *toy = toy_new();

	toy_run(toy)->heap_tracked = false;
	toy_event(toy, "page-faults", "");
	toy_event(toy, "task-clock", "ns")->value = 2690000000;
	toy_sample(toy, toy_stack(toy, "main", NULL), "page-faults", 12, 1);
	says(toy, &summary, "CPU   2.69 s on CPU · shares are of page-faults\n");
	toy_free(toy);
}

Test(report_words, what_is_not_of_time_is_not_called_cpu)
{
	static const struct report_options threads = { .view = "threads" };
	struct toy *toy = toy_new();
	uint32_t child = toy_process(toy, "sh", 200, 0)->id;

	toy_thread(toy, child, 200, "sh");
	toy_run(toy)->heap_tracked = true;
	toy_event(toy, "page-faults", "");
	toy_event(toy, "task-clock", "ns")->value = 2690000000;
	toy_module_kind(toy, "libcprof-heap.so", PROFILE_MODULE_SELF);
	toy_sample(toy, toy_stack(toy, "main", NULL), "page-faults", 9000, 1);
	toy_sample_thread(toy, toy_stack(toy, "main", NULL), 1, "page-faults", 1000, 1);
	toy_sample(toy, toy_stack(toy, "main", "libcprof-heap.so:malloc", NULL), "page-faults", 400,
		   1);
	says(toy, &summary,
	     "CPU   2.69 s on CPU (with cprof's part) · shares are of page-faults\n");
	says(toy, &summary, "cprof itself: 3.8 % of page-faults (not in shares)");
	says(toy, &summary, "pid   share  ");
	says(toy, &threads, "shares are of page-faults\n");
	says(toy, &threads, "share  ");
	says_no(toy, &threads, "CPU  ");
	toy_free(toy);
}

/* Of 200 samples, so many without a name. */
static struct toy *unnamed(uint64_t samples)
{
	struct toy *toy = toy_new();

	sampled(toy, 200 - samples);
	toy_sample(toy, toy_stack(toy, "main", "libx.so:?12", NULL), "cpu-clock", samples, 1000000);
	return toy;
}

Test(report_words, few_samples_without_a_name_are_no_caveat)
{
	struct toy *toy = unnamed(1);

	says_no(toy, &summary, "without a name");
	says(toy, &quality, "samples in unnamed functions");
	toy_free(toy);

	toy = unnamed(2);
	says(toy, &summary, "2 samples (1.0 %) in functions without a name");
	toy_free(toy);
}

Test(report_words, what_cprof_took_of_few_samples_has_an_error)
{
	static const struct {
		uint64_t own, others;
		const char *text;
	} cases[] = { { 2, 1, "cprof itself: 66.7 ± 36.5 % of CPU (not in shares)" },
		      { 300, 9700, "cprof itself: 3.0 % of CPU (not in shares)" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct toy *toy = toy_new();

		toy_module_kind(toy, "libcprof-heap.so", PROFILE_MODULE_SELF);
		sampled(toy, cases[i].others);
		toy_sample(toy, toy_stack(toy, "main", "libcprof-heap.so:malloc", NULL),
			   "cpu-clock", cases[i].own, 1000000);
		says(toy, &summary, cases[i].text);
		toy_free(toy);
	}
}

Test(report_words, what_cprof_took_beside_and_in_memory)
{
	struct toy *toy = toy_new();

	toy_quality(toy, PROFILE_OVERHEAD, 216000, PROFILE_OVERHEAD_CPU);
	toy_quality(toy, PROFILE_OVERHEAD, 5 << 19, PROFILE_OVERHEAD_MEMORY);
	says(toy, &summary,
	     "\ncprof itself: 216 ms of CPU beside the program · about 2.5 MiB of its memory\n");
	toy_process(toy, "cc1", 200, 0);
	says(toy, &summary, "\n              about 2.5 MiB of the memory of one process\n");
	toy_free(toy);
}

Test(report_words, without_a_heap_the_largest_of_several_processes_is_said)
{
	struct toy *toy = toy_new();
	uint32_t child = toy_process(toy, "cc1", 200, 0)->id;

	toy_run(toy)->heap_tracked = false;
	toy_memory(toy, (struct profile_memory){ .time_us = 10, .peak_rss_bytes = 1 << 20 });
	toy_memory(toy, (struct profile_memory){
				.process = child, .time_us = 10, .peak_rss_bytes = 3 << 20 });
	says(toy, &summary, "\nRSS   largest process 3.0 MiB\n");
	toy_free(toy);
}

Test(report_words, what_happens_to_a_recording_once_has_no_number)
{
	struct toy *toy = toy_new();

	toy_heap(toy, PROFILE_NONE)->stall_us = 388000;
	toy_quality(toy, PROFILE_SUBSTITUTED, 1, "cpu-clock instead of cycles");
	toy_quality(toy, PROFILE_INTERRUPTED, 1, "the disk was full");
	toy_quality(toy, PROFILE_UNREADABLE, 1, "files of modules");
	says(toy, &quality, "\n  cpu-clock instead of cycles\n");
	says(toy, &quality, "\n  the disk was full\n");
	says(toy, &quality, "\n  1 · files of modules\n");
	says(toy, &quality, "\n  the program's threads waited 388 ms for the heap recorder\n");
	toy_free(toy);
}

Test(report_words, classes_are_ranges_and_what_is_left_out_is_said)
{
	static struct profile_class sizes[] = { { 16, 500 },	{ 32, 200 },	{ 1024, 196 },
						{ 65536, 100 }, { 1 << 20, 2 }, { 1 << 30, 2 } };
	static struct profile_class ages[] = {
		{ 1, 400 }, { 100, 300 }, { 1000, 100 }, { 1000000, 197 }, { UINT64_MAX, 3 }
	};
	const struct report_options heap = { .view = "heap", .columns = 200 };
	struct toy *toy = toy_new();
	struct profile_heap_site *site;

	toy_heap(toy, PROFILE_NONE)->allocations = 1000;
	site = toy_site(toy, 0, toy_stack(toy, "main", NULL), PROFILE_MALLOC);
	site->allocations = site->frees = 1000;
	site->sizes = (struct profile_histogram){ sizes, ARRAY_SIZE(sizes) };
	site->lifetimes = (struct profile_histogram){ ages, ARRAY_SIZE(ages) };
	says(toy, &heap,
	     "\n    sizes up to 16 B 50.0 % · 17-32 B 20.0 % · 0.5-1 KiB 19.6 % · 32-64 KiB 10.0 % "
	     "· "
	     "other 0.4 %\n");
	says(toy, &heap,
	     "\n    lived under 1 us 40.0 % · 10-100 us 30.0 % · 0.1-1 ms 10.0 % · 0.1-1 s 19.7 % "
	     "· "
	     "other 0.3 %\n");
	toy_free(toy);
}

/* Bytes at the peak, allocated, and allocations. */
static void allocates(struct toy *toy, const char *function, uint64_t at_peak, uint64_t bytes,
		      uint64_t nr)
{
	struct profile_heap_site *site =
		toy_site(toy, 0, toy_stack(toy, "main", function, NULL), PROFILE_MALLOC);

	site->at_tree_peak_bytes = at_peak;
	site->allocated_bytes = bytes;
	site->allocations = nr;
}

Test(report_words, the_summary_has_what_held_most_then_what_allocated_most_bytes_and_most_often)
{
	static const char expected[] = " at peak  allocated   calls  temp  stack\n"
				       "96.7 KiB   96.7 KiB      10   0 %  holder < main\n"
				       "     0 B    3.6 MiB      10   0 %  large < main\n"
				       "     0 B    3.8 KiB  19,000   0 %  often < main\n"
				       "\n";
	struct toy *toy = toy_new();
	struct profile_heap *heap = toy_heap(toy, PROFILE_NONE);

	heap->peak_bytes = 100000;
	heap->allocated_bytes = 4000000;
	heap->allocations = 20000;
	allocates(toy, "holder", 99000, 99000, 10);
	allocates(toy, "tiny", 90, 900, 9);
	allocates(toy, "often", 0, 3900, 19000);
	allocates(toy, "large", 0, 3800000, 10);
	says(toy, &summary, expected);
	toy_free(toy);
}

Test(report_words, a_narrow_terminal_has_room_for_what_threads_did)
{
	struct toy *toy = toy_new();

	sampled(toy, 100);
	toy_heap(toy, PROFILE_NONE);
	toy_heap(toy, 0)->allocations = 1;
	says(toy, &((struct report_options){ .view = "threads", .columns = 40 }),
	     "\n  CPU  allocs  comm  command\n");
	toy_free(toy);
}

static void leaks(struct toy *toy, uint32_t stack)
{
	struct profile_heap_site *site = toy_site(toy, 0, stack, PROFILE_MALLOC);

	site->allocations = site->live_blocks = 1;
	site->allocated_bytes = site->live_bytes = 8;
}

static const struct report_options leaks_view = { .view = "leaks" };

Test(report_words, a_recursion_is_shown_once_and_how_often_it_comes)
{
	struct toy *toy = toy_new();

	toy_heap(toy, PROFILE_NONE)->allocations = 1;
	leaks(toy, toy_stack(toy, "main@m.c:1", "f@f.c:2", "f@f.c:2", "f@f.c:2", "f@f.c:3",
			     "g@g.c:4", NULL));
	says(toy, &leaks_view,
	     "\n    g  g.c:4\n    f  f.c:3\n    f  f.c:2\n    … 2 times more\n    main  m.c:1\n");
	toy_free(toy);
}

Test(report_words, a_recursion_of_several_functions_is_shown_once)
{
	struct toy *toy = toy_new();

	toy_heap(toy, PROFILE_NONE)->allocations = 1;
	leaks(toy, toy_stack(toy, "main", "call", "eval", "eval", "call", "eval", "eval", "call",
			     "eval", "eval", "call", "new", "twice", "new", "twice", NULL));
	says(toy, &leaks_view,
	     "\n    twice\n    new\n    twice\n    new\n    call\n    eval\n    eval\n    … 2 "
	     "times more, these 3 frames\n"
	     "    call\n    main\n");
	toy_free(toy);
}

Test(report_words, frames_that_are_left_out_of_a_deep_stack_are_counted_with_their_recursion)
{
	struct toy *toy = toy_new();

	toy_heap(toy, PROFILE_NONE)->allocations = 1;
	leaks(toy, toy_stack(toy, "a", "b", "c", "d", "e", "f", "r", "r", "r", "r", "1", "2", "3",
			     "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
			     "17", "18", NULL));
	says(toy, &leaks_view, "\n    1\n    … 4 frames\n    f\n");
	toy_free(toy);
}

Test(report_words, threads_of_one_name_are_told_apart_by_what_they_began_in)
{
	static const struct report_options threads = { .view = "threads" };
	struct toy *toy = toy_new();
	uint32_t one = toy_thread(toy, 0, 101, "app"), two = toy_thread(toy, 0, 102, "app");

	sampled(toy, 10);
	toy_sample_thread(toy,
			  toy_stack(toy, "libc.so.6:clone3", "libc.so.6:start_thread",
				    "libstdc++.so.6:?10", "std::thread::_State_impl<f>::_M_run()",
				    "void std::__invoke_impl<void, f>(f)", "load", "read", NULL),
			  one, "cpu-clock", 30, 1000000);
	toy_sample_thread(toy, toy_stack(toy, "libc.so.6:clone3", NULL), two, "cpu-clock", 9,
			  1000000);
	toy_sample_thread(toy, toy_stack(toy, "...", "read", NULL), two, "cpu-clock", 9, 1000000);
	toy_sample_thread(
		toy, toy_stack(toy, "libc.so.6:clone3", "libc.so.6:start_thread", "parse", NULL),
		two, "cpu-clock", 2, 1000000);
	says(toy, &threads, " comm  began in\n");
	says(toy, &threads, " app   load\n");
	says(toy, &threads, " app   parse\n");
	says(toy, &threads, " app   main\n");
	toy_process(toy, "other", 200, 0);
	toy_thread(toy, 1, 200, "other");
	says(toy, &threads, " began in  command\n");
	toy_free(toy);
}

static const struct report_options half_of_threads = { .view = "threads", .min_share = 0.5 };
static const struct report_options half_of_modules = { .view = "modules", .min_share = 0.5 };

Test(report_words, threads_with_few_samples_can_be_left_out)
{
	struct toy *toy = toy_new();
	uint32_t worker = toy_thread(toy, 0, 101, "worker"), stack = sampled(toy, 25);

	toy_sample_thread(toy, stack, worker, "cpu-clock", 75, 1000000);
	says(toy, &half_of_threads, "worker");
	says_no(toy, &half_of_threads, "  app  ");
	says(toy, &half_of_threads, "\nand 1 below --min\n");
	toy_free(toy);
}

static void allocate(struct toy *toy, uint32_t stack, uint64_t nr)
{
	struct profile_heap_site *site = toy_site(toy, 0, stack, PROFILE_MALLOC);

	site->allocations = site->live_blocks = nr;
	site->allocated_bytes = site->live_bytes = nr * 8;
}

Test(report_words, where_nothing_was_sampled_those_with_few_allocations_can_be)
{
	struct toy *toy = toy_new();

	toy_run(toy)->cpu_on = false;
	toy_heap(toy, PROFILE_NONE)->allocations = 4;
	allocate(toy, toy_stack(toy, "libmuch.so:much", NULL), 3);
	allocate(toy, toy_stack(toy, "libfew.so:few", NULL), 1);
	says(toy, &half_of_modules, "libmuch.so");
	says_no(toy, &half_of_modules, "libfew.so");
	toy_free(toy);
}
