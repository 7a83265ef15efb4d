/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"
#include "base/text.h"
#include "printed.h"

/* Both sides, with a PMU, two threads, something on every line. */
static struct toy *busy_program(void)
{
	struct toy *toy = toy_new();
	uint32_t matmul, lookup, hash, shim, lost, insert, parse, leak;
	struct profile_heap_site *site;
	struct profile_heap *heap;

	toy_run(toy)->exit_status = 0;
	toy_thread(toy, 0, 101, "worker");
	toy_event(toy, "cycles", "cycles")->value = 13.2e9;
	toy_event(toy, "instructions", "")->value = 18.9e9;
	toy_event(toy, "branch-misses", "")->value = 43.5e6;
	toy_event(toy, "cache-misses", "")->value = 12.1e6;
	toy_event(toy, "branches", "")->value = 5.4e9;
	toy_event(toy, "task-clock", "ns")->value = 4.1e9;
	toy_module_kind(toy, "libcprof-heap.so", PROFILE_MODULE_SELF);

	matmul = toy_stack(toy, "_start", "main@m.c:9", "matmul_kernel", NULL);
	lookup = toy_stack(toy, "_start", "main@m.c:10",
			   "Index::lookup(std::basic_string<char, std::char_traits<char> > const&)",
			   NULL);
	hash = toy_stack(toy, "_start", "main@m.c:10",
			 "Index::lookup(std::basic_string<char, std::char_traits<char> > const&)",
			 "libhash.so.1:libhash.so.1+0x2a340", NULL);
	shim = toy_stack(toy, "_start", "main@m.c:11", "libcprof-heap.so:malloc", NULL);
	lost = toy_stack(toy, "...", "libhash.so.1:libhash.so.1+0x2a340", NULL);
	toy_sample(toy, matmul, "cycles", 4100, 1000000);
	toy_sample(toy, matmul, "instructions", 4000, 2000000);
	toy_sample(toy, matmul, "branch-misses", 40, 10000);
	toy_sample(toy, lookup, "cycles", 2000, 1000000);
	toy_sample(toy, lookup, "instructions", 1000, 1100000);
	toy_sample(toy, lookup, "branch-misses", 900, 10000);
	toy_sample(toy, lookup, "cache-misses", 800, 10000);
	toy_sample(toy, hash, "cycles", 1960, 1000000);
	toy_sample(toy, lost, "cycles", 14, 1000000);
	toy_sample(toy, shim, "cycles", 328, 1000000);

	insert = toy_stack(toy, "_start", "main@m.c:9", "load_table@t.c:31",
			   "Cache::insert@c.cc:88", NULL);
	parse = toy_stack(toy, "_start", "main@m.c:10", "parse@p.c:7|append@p.h:3", NULL);
	leak = toy_stack(toy, "libc.so.6:clone3", "libc.so.6:start_thread", "worker@w.c:4", NULL);
	heap = toy_heap(toy, PROFILE_NONE);
	*heap = (struct profile_heap){
		.process = PROFILE_NONE,
		.allocations = 18204113,
		.frees = 18203801,
		.reallocations = 5,
		.allocated_bytes = 9771050598,
		.freed_bytes = 9769792307,
		.peak_bytes = 432328704,
		.peak_blocks = 48112,
		.peak_time_us = 3020000,
		.peak_exact = true,
		.live_bytes = 1258291,
		.live_blocks = 312,
		.temporary = 11104509,
		.churn = { { 1000, 2 }, { 9769000000, 18203000 }, { 100, 3 }, { 4, 5 } },
	};
	site = toy_site(toy, 0, insert, PROFILE_MALLOC);
	site->allocations = site->frees = site->at_tree_peak_blocks = 12801;
	site->allocated_bytes = site->freed_bytes = site->at_tree_peak_bytes = 210763776;
	site = toy_site(toy, 0, parse, PROFILE_REALLOC);
	site->allocations = site->frees = 18191000;
	site->temporary = 11104509;
	site->allocated_bytes = site->freed_bytes = 9559028531;
	site->lifetime_us = site->lifetime_blocks = 18191000;
	site = toy_site(toy, 0, leak, PROFILE_CALLOC);
	site->allocations = site->live_blocks = site->at_tree_peak_blocks = 312;
	site->allocated_bytes = site->live_bytes = site->at_tree_peak_bytes = 1258291;

	toy_quality(toy, PROFILE_TRUNCATED, 14, "libhash.so.1: no CFI");
	return toy;
}

static void shows(struct toy *toy, const struct report_options *options, const char *expected)
{
	char *text = printed(toy, options);

	cr_expect(eq(str, text, (char *)expected), "%s", text);
	free(text);
	toy_free(toy);
}

/* Above the last lines, which name the other views. */
static void summary_shows(struct toy *toy, const char *expected)
{
	char *text = printed(toy, &(struct report_options){ 0 });
	char *more = strstr(text, "more: cprof report ");

	cr_assert(ne(ptr, more, NULL), "%s", text);
	for (const char *const *view = report_view_names() + 1; *view; view++)
		cr_expect(ne(ptr, strstr(more, *view), NULL), "%s: %s", *view, text);
	*more = '\0';
	cr_expect(eq(str, text, (char *)expected), "%s", text);
	free(text);
	toy_free(toy);
}

Test(report_text, the_summary_shows_both_sides_on_a_page)
{
	static const char expected[] =
		"./app --size 3\n"
		"exit 0 · 4.21 s · 2 threads · cycles 997 Hz · 8,074 samples, 0 lost\n"
		"\n"
		"CPU   3.94 s on CPU · 13.2 G cycles · 18.9 G instructions · IPC 1.43\n"
		"      branch misses 2.30 /1k instr (0.8 %) · cache misses 0.64 /1k instr\n"
		" #    self  ± %   total   IPC  br/1k  $/1k  function                module\n"
		"1   50.8 %  1.1  50.8 %  1.95   0.05     -  matmul_kernel           app\n"
		"2=  24.8 %  0.9  49.0 %  0.55   8.18  7.27  Index::lookup(…)        app\n"
		"2=  24.4 %  0.9  24.4 %     -      -     -  libhash.so.1+0x2a340    libhash.so.1\n"
		"\n"
		"HEAP  peak 412.3 MiB at 3.02 s (48,112 blocks)\n"
		"      18,204,113 allocations, 9.1 GiB · 1.2 MiB in 312 blocks not freed\n"
		"      100 % of the bytes freed, most within 1 ms · temporary 61.0 %\n"
		"  at peak  allocated       calls    temp  stack\n"
		"201.0 MiB  201.0 MiB      12,801     0 %  Cache::insert < load_table < main\n"
		"  1.2 MiB    1.2 MiB         312     0 %  worker\n"
		"      0 B    8.9 GiB  18,191,000  61.0 %  append < parse < main\n"
		"\n"
		"cprof itself: 3.9 % of CPU (not in shares)\n"
		"caveats: 14 stacks ended early (0.2 %): libhash.so.1: no CFI\n"
		"         1,974 samples (24.4 %) in functions without a name, most in\n"
		"         libhash.so.1\n";

	summary_shows(busy_program(), expected);
}

Test(report_text, without_a_pmu_it_says_what_was_sampled_and_why_there_is_no_ipc)
{
	static const char expected[] =
		"./app --size 3\n"
		"killed by signal 11 (SIGSEGV) · 4.21 s · 1 thread · cpu-clock 997 Hz\n"
		"500 samples, 2 lost\n"
		"\n"
		"CPU   500 ms on CPU\n"
		"      no hardware PMU (perf offers no 'cycles' here, as in most VMs): sampled\n"
		"      cpu-clock; IPC not available\n"
		" #   self  ± %  total  function                                           module\n"
		"1   100 %  0.4  100 %  main                                               app\n"
		"\n"
		"HEAP  not tracked · ./app is statically linked\n"
		"\n"
		"caveats: 2 lost (0.4 %): samples dropped by the kernel: the ring was full\n"
		"         untracked: ./app is statically linked\n";
	struct toy *toy = toy_new();
	struct profile_event *event = toy_event(toy, "cpu-clock", "ns");

	event->substituted_for = "cycles";
	event->reason = "no hardware PMU (perf offers no 'cycles' here, as in most VMs): sampled "
			"cpu-clock; IPC not available";
	event->value = 5e8;
	toy_run(toy)->exit_status = -1;
	toy_run(toy)->signal = 11;
	toy_run(toy)->heap_tracked = false;
	toy_run(toy)->heap_reason = "./app is statically linked";
	toy_sample(toy, toy_stack(toy, "main", NULL), "cpu-clock", 500, 1000000);
	toy_quality(toy, PROFILE_LOST, 2, PROFILE_LOST_SAMPLES);
	summary_shows(toy, expected);
}

Test(report_text, heap_shows_whole_stacks)
{
	static const char expected[] =
		"./app --size 3\n"
		"exit 0 · 4.21 s · 2 threads · cycles 997 Hz · 8,074 samples, 0 lost\n"
		"\n"
		"HEAP  peak 412.3 MiB at 3.02 s (48,112 blocks)\n"
		"      18,204,113 allocations, 9.1 GiB · 1.2 MiB in 312 blocks not freed\n"
		"      100 % of the bytes freed, most within 1 ms · temporary 61.0 %\n"
		"\n"
		"0 B at peak in 0 blocks · realloc: 18,191,000 allocations · 8.9 GiB\n"
		"    temporary 61.0 % · lived 1.00 us on average\n"
		"    append (inlined)  p.h:3\n"
		"    parse  p.c:7\n"
		"    main  m.c:10\n"
		"\n"
		"and 2 more: --limit all\n"
		"\n"
		"cprof itself: 3.9 % of CPU (not in shares)\n"
		"caveats: 14 stacks ended early (0.2 %): libhash.so.1: no CFI\n"
		"         1,974 samples (24.4 %) in functions without a name, most in\n"
		"         libhash.so.1\n";

	shows(busy_program(),
	      &(struct report_options){ .view = "heap", .sort = "allocations", .limit = 1 },
	      expected);
}

Test(report_text, several_processes_come_by_use)
{
	static const char expected[] =
		"PROCESSES\n"
		"pid     CPU  heap peak  allocations  exit  signal  command\n"
		"200  75.0 %    2.0 KiB            4     -      11  cc1 x.c\n"
		"100  25.0 %    1.0 KiB            3     0       -  ./app --size 3\n";
	struct toy *toy = toy_new();
	struct profile_process *process = toy_process(toy, "cc1 x.c", 200, 0);
	uint32_t child = process->id;
	uint32_t thread = toy_thread(toy, child, 200, "cc1"), stack = toy_stack(toy, "main", NULL);
	struct profile_heap *heap;
	char *text;

	process->exit_status = -1;
	process->signal = 11;
	toy_process(toy, "idle", 300, 0);
	toy_event(toy, "cycles", "cycles");
	toy_sample(toy, stack, "cycles", 25, 2);
	toy_sample_thread(toy, stack, thread, "cycles", 75, 2);
	heap = toy_heap(toy, 0);
	heap->allocations = 3;
	heap->peak_bytes = 1024;
	heap = toy_heap(toy, child);
	heap->allocations = 4;
	heap->peak_bytes = 2048;

	text = printed(toy, &(struct report_options){ 0 });
	cr_expect(ne(ptr, strstr(text, expected), NULL), "%s", text);
	cr_expect(ne(ptr, strstr(text, " · 3 processes · 2 threads · "), NULL), "%s", text);
	free(text);
	toy_free(toy);
}

Test(report_text, what_only_reallocates_has_its_calls_counted)
{
	struct toy *toy = toy_new();
	struct profile_heap *heap = toy_heap(toy, PROFILE_NONE);
	struct profile_heap_site *site;
	char *text;

	heap->allocations = 1;
	heap->reallocations = 17;
	site = toy_site(toy, 0, toy_stack(toy, "main@m.c:3", "grow@m.c:9", NULL), PROFILE_REALLOC);
	site->reallocations = 17;
	site->allocated_bytes = site->at_tree_peak_bytes = 1700;
	site->at_tree_peak_blocks = 1;

	text = printed(toy, &(struct report_options){ 0 });
	cr_expect(ne(ptr, strstr(text, "1.7 KiB    1.7 KiB     17   0 %  grow < main\n"), NULL),
		  "%s", text);
	free(text);
	text = printed(toy, &(struct report_options){ .view = "heap" });
	cr_expect(ne(ptr, strstr(text, " · realloc: 17 reallocations · 1.7 KiB"), NULL), "%s",
		  text);
	free(text);
	toy_free(toy);
}

/* A look at a heap of which 3 MiB are live, and what it has in the page. */
static void memory_shows(uint64_t anonymous_bytes, uint64_t peak_rss_bytes, const char *expected)
{
	struct toy *toy = toy_new();
	struct profile_heap *heap = toy_heap(toy, PROFILE_NONE);
	char *text;

	heap->peak_bytes = 3 << 20;
	heap->peak_time_us = 2000;
	toy_slice(toy, (struct profile_slice){ .time_us = 0,
					       .duration_us = 4000,
					       .live_bytes = 3 << 20,
					       .max_live_bytes = 3 << 20 });
	toy_memory(toy, (struct profile_memory){ .time_us = 2000,
						 .anonymous_bytes = anonymous_bytes,
						 .file_bytes = 1 << 20,
						 .peak_rss_bytes = peak_rss_bytes });
	text = printed(toy, &(struct report_options){ 0 });
	cr_expect(ne(ptr, strstr(text, expected), NULL), "%s", text);
	free(text);
	toy_free(toy);
}

Test(report_text, what_is_resident_beside_the_heap_is_said)
{
	memory_shows(
		5 << 20, 9 << 20,
		"RSS   most 9.0 MiB · 6.0 MiB at 2.00 ms, near the heap's peak · heap 3.0 MiB\n"
		"      other anonymous 2.0 MiB · files 1.0 MiB\n");
}

Test(report_text, a_look_that_misses_blocks_of_the_peak_says_nothing_of_what_was_resident)
{
	memory_shows(2 << 20, 4 << 20,
		     "RSS   most 4.0 MiB · 3.0 MiB at 2.00 ms, near the heap's peak\n"
		     "      anonymous 2.0 MiB · files 1.0 MiB\n");
}

Test(report_text, a_heap_larger_than_the_process_ever_was_is_not_all_resident)
{
	memory_shows(3 << 19, (3 << 20) - 1,
		     "RSS   most 3.0 MiB · 2.5 MiB at 2.00 ms, near the heap's peak\n"
		     "      the heap at its peak was not all resident · anonymous 1.5 MiB\n"
		     "      files 1.0 MiB\n");
}

Test(report_text, the_name_of_the_file_in_hints_is_whole)
{
	static const char name[] = "/var/tmp/a folder with a name/that/is/wider/than/a/terminal/is/"
				   "in/most/cases/and/the/profile.data";
	struct toy *toy = busy_program();
	char *text = printed(toy, &(struct report_options){ .file = name });

	cr_expect(ne(ptr, strstr(text, name), NULL), "%s", text);
	free(text);
	toy_free(toy);
}

Test(report_text, hints_with_the_name_of_a_file_keep_to_the_width)
{
	struct toy *toy = busy_program();

	for (size_t columns = 60; columns < 140; columns++) {
		char *text = printed(toy, &(struct report_options){ .file = "some.other.data",
								    .columns = columns });
		char *rest = strstr(text, "more: "), *line;

		while ((line = strsep(&rest, "\n")))
			cr_expect(le(sz, text_width(line), columns), "%s", line);
		free(text);
	}
	toy_free(toy);
}

Test(report_text, nothing_to_say_of_a_heap_is_no_line)
{
	struct toy *toy = toy_new();

	toy_memory(toy, (struct profile_memory){ .time_us = 2000, .peak_rss_bytes = 1 << 20 });
	toy_heap(toy, PROFILE_NONE);
	toy_heap(toy, 0);
	says(toy, &(struct report_options){ 0 }, "0 allocations, 0 B · all freed\nRSS   most");
	toy_free(toy);
}

/* The run took 4.21 s. */
Test(report_text, waiting_for_the_heap_recorder_is_said_where_it_matters)
{
	static const struct {
		uint64_t stall_us;
		bool is_said;
	} cases[] = { { 0, false }, { 40000, false }, { 43000, true }, { 9000000, true } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct toy *toy = toy_new();
		char *text;

		toy_heap(toy, PROFILE_NONE)->stall_us = cases[i].stall_us;
		text = printed(toy, &(struct report_options){ 0 });
		cr_expect(eq(int, strstr(text, "threads waited ") != NULL, cases[i].is_said), "%s",
			  text);
		free(text);
		text = printed(toy, &(struct report_options){ .view = "quality" });
		cr_expect(eq(int, strstr(text, "threads waited ") != NULL, cases[i].stall_us > 0),
			  "%s", text);
		free(text);
		toy_free(toy);
	}
}

Test(report_text, the_brief_summary_is_short_and_has_both_sides)
{
	static const char expected[] =
		"./app --size 3\n"
		"exit 0 · 4.21 s · 2 threads · cycles 997 Hz · 8,074 samples, 0 lost\n"
		"CPU   3.94 s on CPU · 13.2 G cycles · 18.9 G instructions · IPC 1.43\n"
		"      branch misses 2.30 /1k instr (0.8 %) · cache misses 0.64 /1k instr\n"
		"      50.8 % matmul_kernel (IPC 1.95) · 24.8 % Index::lookup(…) (IPC 0.55)\n"
		"      24.4 % libhash.so.1+0x2a340\n"
		"HEAP  peak 412.3 MiB at 3.02 s (48,112 blocks)\n"
		"      18,204,113 allocations, 9.1 GiB · 1.2 MiB in 312 blocks not freed\n"
		"      201.0 MiB Cache::insert < load_table < main\n"
		"      1.2 MiB worker\n"
		"cprof itself: 3.9 % of CPU (not in shares)\n"
		"caveats: 14 stacks ended early (0.2 %): libhash.so.1: no CFI\n"
		"         1,974 samples (24.4 %) in functions without a name, most in\n"
		"         libhash.so.1\n"
		"more: cprof report 'a b.data'\n";
	struct toy *toy = busy_program();
	struct report *report = report_new(toy_profile(toy));
	struct report_options options = { .file = "a b.data" };
	struct error err = ERROR_INIT;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert(eq(int, report_print_brief(report, &options, out, &err), 0));
	fclose(out);
	cr_expect(eq(str, text, (char *)expected), "%s", text);
	free(text);
	report_close(report);
	toy_free(toy);
}

Test(report_text, rows_are_filtered_sorted_and_shortened_but_shares_stay)
{
	struct toy *toy = busy_program();
	char *text = printed(toy, &(struct report_options){ .view = "functions",
							    .function = "^(main|matmul|Index)",
							    .sort = "total",
							    .limit = 2 });

	cr_expect(ne(ptr, strstr(text, "\n   0 %  0.0  99.8 %     -      -  main "), NULL), "%s",
		  text);
	cr_expect(ne(ptr, strstr(text, "\n50.8 %  1.1  50.8 %  1.95   0.05  matmul_kernel"), NULL),
		  "%s", text);
	cr_expect(eq(ptr, strstr(text, "Index"), NULL), "%s", text);
	cr_expect(ne(ptr, strstr(text, "\nand 1 more: --limit all"), NULL), "%s", text);
	free(text);

	text = printed(toy, &(struct report_options){ .view = "functions", .min_share = 0.246 });
	cr_expect(ne(ptr, strstr(text, "Index"), NULL), "%s", text);
	cr_expect(eq(ptr, strstr(text, "libhash.so.1+"), NULL), "%s", text);
	free(text);
	toy_free(toy);
}

Test(report_text, what_hides_rows_is_said)
{
	struct toy *toy = busy_program();

	says(toy, (&(struct report_options){ .view = "functions", .min_share = 0.246 }),
	     "\nand 3 below --min\n");
	says(toy, (&(struct report_options){ .view = "functions", .min_share = 0.246, .limit = 1 }),
	     "\nand 1 more: --limit all · 3 below --min\n");
	says(toy, (&(struct report_options){ .view = "heap", .min_share = 0.01 }),
	     "\n\nand 2 below --min\n");
	toy_free(toy);
}

static void refuses(const struct report_options *options, const char *message, const char *hint)
{
	struct toy *toy = busy_program();
	struct report *report = report_new(toy_profile(toy));
	struct error err = ERROR_INIT;

	cr_expect(eq(int, report_print(report, options, stdout, &err), ERR_USAGE));
	cr_expect(eq(str, err.message, (char *)message));
	cr_expect(eq(str, err.hint, (char *)hint));
	report_close(report);
	toy_free(toy);
}

Test(report_text, what_does_not_exist_is_refused_by_name)
{
	refuses(&(struct report_options){ .view = "fnctions" }, "'fnctions' is not a view",
		"did you mean 'functions'?");
	refuses(&(struct report_options){ .view = "functions", .sort = "totl" },
		"--sort: 'functions' has no column 'totl'", "did you mean 'total'?");
	refuses(&(struct report_options){ .view = "heap", .function = "(" },
		"--function: '(': Unmatched ( or \\(", "");
}

/* Names that try to escape, in every place where a name is shown. */
static struct toy *hostile_program(void)
{
	static const char *const name =
		"std::map<std::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
		"int>::\033[31m\302\233\r\n\tinsert\377\342\200\256(std::pair<int, int> const&)";
	struct toy *toy = toy_new();
	struct profile_heap_site *site;
	uint32_t stack;

	toy_event(toy, "cycles", "cycles")->value = 1e9;
	toy_process(toy, "./\033]0;title\007 \377\376 -x", 101, 0);
	stack = toy_stack(toy, "main", name, "lib\033[2J\304.so:f@\033[1mfile.c:3", NULL);
	toy_sample(toy, stack, "cycles", 100, 1);
	toy_heap(toy, PROFILE_NONE)->allocations = 1;
	toy_heap(toy, 0)->allocations = 1;
	toy_heap(toy, 1)->allocations = 1;
	site = toy_site(toy, 0, stack, PROFILE_MALLOC);
	site->live_blocks = site->allocations = 1;
	for (int depth = 0; depth < 100; depth++)
		stack = toy_stack(toy, "deep", name, name, "deeper", name, NULL);
	toy_site(toy, 0, stack, PROFILE_MALLOC)->live_blocks = 1;
	toy_quality(toy, PROFILE_TRUNCATED, 3, "lib\033[5m.so: bad \r\377");
	return toy;
}

static size_t columns_of(const char *line)
{
	char *utf8 = text_utf8(line);
	size_t width = text_width(utf8);

	cr_expect(eq(str, utf8, (char *)line)); /* all of it was UTF-8 */
	free(utf8);
	return width;
}

static void check_lines(char *text, size_t width)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		for (const char *at = line; *at; at++)
			cr_assert(eq(int, iscntrl((unsigned char)*at), 0), "'%s'", line);
		cr_assert(le(sz, columns_of(line), width), "'%s'", line);
	}
}

Test(report_text, hostile_names_neither_act_nor_break_the_width)
{
	static const size_t widths[] = { 40, 60, 80, 81, 120, 200 };
	struct toy *hostile = hostile_program(), *busy = busy_program();

	for (const char *const *view = report_view_names(); *view; view++)
		for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
			struct report_options options = { .view = *view, .columns = widths[i] };
			char *text = printed(hostile, &options);

			check_lines(text, widths[i]);
			free(text);
			text = printed(busy, &options);
			check_lines(text, widths[i]);
			free(text);
		}
	toy_free(hostile);
	toy_free(busy);
}

Test(report_text, colours_are_there_when_asked_for_and_end)
{
	struct toy *toy = busy_program();
	char *text = printed(toy, &(struct report_options){ .color = true });
	size_t on = 0, off = 0;

	for (const char *at = strchr(text, '\033'); at; at = strchr(at + 1, '\033')) {
		if (!strncmp(at, "\033[0m", 4))
			off++;
		else
			on++;
	}
	cr_expect(gt(sz, on, 5));
	cr_expect(eq(sz, on, off));
	free(text);
	toy_free(toy);
}

Test(report_text, an_empty_profile_is_still_a_report)
{
	static const char expected[] = "./app --size 3\n"
				       "exit 0 · 4.21 s · 1 thread · CPU not sampled\n"
				       "\n"
				       "CPU   not sampled · no samples were taken\n"
				       "\n"
				       "HEAP  not recorded · not asked for (--heap=off)\n"
				       "\n";
	struct toy *toy = toy_new();

	toy_run(toy)->heap_mode = "off";
	toy_run(toy)->heap_tracked = false;
	toy_run(toy)->heap_reason = "not asked for (--heap=off)";
	summary_shows(toy, expected);
}
