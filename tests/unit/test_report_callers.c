/* SPDX-License-Identifier: MIT */
#include "report/analyze/callers.h"

#include "printed.h"

static const struct report_options callers_view = { .view = "callers" };
static const struct report_options of_f = { .view = "callers", .function = "^f$" };

/* Each run of spaces is one. */
static void squeeze(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++)
		if (*at != ' ' || (to > text && to[-1] != ' ' && to[-1] != '\n'))
			*to++ = *at;
	*to = '\0';
}

/* The table that is below the first lines, with single spaces between columns. */
static void has_table(struct toy *toy, const struct report_options *options, const char *expected)
{
	char *text = printed(toy, options), *table = strstr(text, "\n\n");

	cr_assert(ne(ptr, table, NULL), "%s", text);
	table += 2;
	*(strstr(table, "\n\n") + 1) = '\0';
	squeeze(table);
	cr_expect(eq(str, table, (char *)expected));
	free(text);
}

static void sample(struct toy *toy, uint32_t stack, uint64_t samples)
{
	toy_sample(toy, stack, "cycles", samples, 10);
}

static void allocate(struct toy *toy, uint32_t stack, uint64_t nr, uint64_t bytes)
{
	struct profile_heap_site *site = toy_site(toy, 0, stack, PROFILE_MALLOC);

	site->allocations = nr;
	site->allocated_bytes = bytes;
	site->at_peak_bytes = bytes / 2;
}

Test(report_callers, have_what_the_function_used_below_each_of_them)
{
	static const char expected[] = "self total caller function\n"
				       "0 % 60.0 % a f\n"
				       "40.0 % 40.0 % b f\n";
	struct toy *toy = toy_new();

	toy_event(toy, "cycles", "cycles");
	toy_run(toy)->heap_tracked = false;
	sample(toy, toy_stack(toy, "main", "a", "f", "g", NULL), 60);
	sample(toy, toy_stack(toy, "main", "b", "f", NULL), 40);
	has_table(toy, &of_f, expected);
	toy_free(toy);
}

Test(report_callers, a_stack_counts_once_for_a_caller_and_in_self_for_the_innermost_one)
{
	static const char expected[] = "self total caller function\n"
				       "100 % 100 % f f\n"
				       "0 % 100 % main f\n";
	struct toy *toy = toy_new();

	toy_event(toy, "cycles", "cycles");
	toy_run(toy)->heap_tracked = false;
	sample(toy, toy_stack(toy, "main", "f", "f", "f", NULL), 10);
	has_table(toy, &of_f, expected);
	toy_free(toy);
}

Test(report_callers, inlined_functions_are_called_and_call)
{
	struct toy *toy = toy_new();

	toy_event(toy, "cycles", "cycles");
	sample(toy, toy_stack(toy, "main", "outer|inner", "f", NULL), 10);
	has_table(toy, &callers_view,
		  "self total caller function\n"
		  "100 % 100 % inner f\n"
		  "0 % 100 % outer inner\n"
		  "0 % 100 % main outer\n"
		  "0 % 100 % - main\n");
	has_table(toy,
		  &(struct report_options){ .view = "callers", .function = "f", .no_inline = true },
		  "self total caller function\n"
		  "100 % 100 % outer f\n");
	toy_free(toy);
}

Test(report_callers, an_allocation_function_is_called_by_who_asked_for_memory)
{
	static const char expected[] = "at peak allocated calls caller function\n"
				       "500 B 1000 B 7 b malloc\n"
				       "150 B 300 B 3 a malloc\n";
	static const struct report_options options = { .view = "callers", .function = "^malloc$" };
	struct toy *toy = toy_new();

	toy_run(toy)->cpu_on = false;
	toy_heap(toy, 0)->allocations = 10;
	allocate(toy, toy_stack(toy, "main", "a", NULL), 3, 300);
	allocate(toy, toy_stack(toy, "main", "a", "b", NULL), 7, 1000);
	has_table(toy, &options, expected);
	toy_free(toy);
}

Test(report_callers, samples_and_allocations_are_of_one_function_and_the_guest_is_none)
{
	static const char expected[] = "self total at peak allocated calls caller function\n"
				       "60.0 % 60.0 % 50 B 100 B 1 main malloc\n";
	static const struct report_options options = { .view = "callers", .function = "^malloc$" };
	struct toy *toy = toy_new();
	uint32_t main = toy_stack(toy, "main", NULL);
	struct profile_heap *heap = toy_heap(toy, 0);

	heap->allocations = 1;
	heap->allocator = "libc.so.6";
	toy_event(toy, "cycles", "cycles");
	toy_module_kind(toy, "libcprof-heap.so", PROFILE_MODULE_SELF);
	sample(toy, main, 40);
	sample(toy, toy_stack(toy, "main", "libcprof-heap.so:malloc", "libc.so.6:malloc", NULL),
	       60);
	allocate(toy, main, 1, 100);
	has_table(toy, &options, expected);
	toy_free(toy);
}

Test(report_callers, operators_new_are_one_function_whatever_they_take)
{
	static const struct report_options options = { .view = "callers", .function = "new" };
	struct toy *toy = toy_new();
	uint32_t main = toy_stack(toy, "main", NULL);
	struct profile_heap_site *site = toy_site(toy, 0, main, PROFILE_NEW);

	toy_heap(toy, 0)->allocations = 1;
	site->allocations = 2;
	site->allocated_bytes = 300;
	toy_event(toy, "cycles", "cycles");
	sample(toy, main, 40);
	sample(toy, toy_stack(toy, "main", "operator new(unsigned long)", NULL), 60);
	has_table(toy, &options,
		  "self total at peak allocated caller function\n"
		  "60.0 % 60.0 % 0 B 300 B main operator n…ned long)\n");
	toy_free(toy);
}

Test(report_callers, what_begins_a_stack_has_no_caller_and_missing_frames_are_no_function)
{
	struct toy *toy = toy_new();

	toy_event(toy, "cycles", "cycles");
	sample(toy, toy_stack(toy, "start", "f", NULL), 10);
	sample(toy, toy_stack(toy, "...", "f", NULL), 10);
	has_table(toy, &callers_view,
		  "self total caller function\n"
		  "50.0 % 50.0 % start f\n"
		  "50.0 % 50.0 % [callers missing] f\n"
		  "0 % 50.0 % - start\n");
	toy_free(toy);
}
