/* SPDX-License-Identifier: MIT */
/* Single lines of reports: the words for what is few, or not known, or not there. */
#include "report/report.h"

#include "base/alloc.h"
#include "printed.h"

static const struct report_options summary;

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
