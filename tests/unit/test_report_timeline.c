/* SPDX-License-Identifier: MIT */
#include "report/analyze/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"
#include "base/text.h"
#include "report/analyze/analysis.h"
#include "report/analyze/memory.h"
#include "report/view/sparkline.h"
#include "toy_profile.h"

#define MIB (1024u * 1024u)

struct fixture {
	struct toy *toy;
	const struct profile *profile;
	struct selection selection;
	struct history history;
};

static struct fixture start(int64_t wall_us)
{
	struct fixture f = { .toy = toy_new() };

	toy_run(f.toy)->wall_us = wall_us;
	return f;
}

static void analyze(struct fixture *f, uint32_t process, const struct select_options *options)
{
	static const struct select_options all;
	struct error err = ERROR_INIT;

	f->profile = toy_profile(f->toy);
	cr_assert_eq(selection_init(&f->selection, f->profile, options ?: &all, &err), 0);
	history_analyze(&f->history, f->profile,
			&(struct history_scope){
				.process = process, .selection = &f->selection, .samples = true });
}

static void end(struct fixture *f)
{
	history_release(&f->history);
	selection_release(&f->selection);
	toy_free(f->toy);
}

static struct profile_slice slice(uint32_t process, int64_t time_us, uint64_t live, uint64_t max,
				  uint64_t allocations)
{
	return (struct profile_slice){ .process = process,
				       .time_us = time_us,
				       .duration_us = 1000,
				       .live_bytes = live,
				       .max_live_bytes = max,
				       .allocations = allocations,
				       .allocated_bytes = 10 * allocations };
}

/* "5/7 5/5 ...": live and most live. */
static const char *heap_of(const struct history *history)
{
	static char text[1024];

	text[0] = '\0';
	for (size_t i = 0; i < history->nr; i++)
		sprintf(text + strlen(text), "%s%.0f/%.0f", i ? " " : "",
			history->slices[i].live_bytes.value,
			history->slices[i].max_live_bytes.value);
	return text;
}

static const char *rss_of(const struct history *history)
{
	static char text[1024];

	text[0] = '\0';
	for (size_t i = 0; i < history->nr; i++)
		if (history->slices[i].rss_bytes.absent)
			strcat(text, i ? " -" : "-");
		else
			sprintf(text + strlen(text), "%s%.0f", i ? " " : "",
				history->slices[i].rss_bytes.value);
	return text;
}

Test(report_timeline, holds_what_is_live_where_nothing_happened)
{
	struct fixture f = start(5500);

	toy_slice(f.toy, slice(PROFILE_NONE, 1000, 5, 7, 3));
	toy_slice(f.toy, slice(PROFILE_NONE, 4000, 1, 6, 1));
	analyze(&f, PROFILE_NONE, NULL);

	cr_expect(eq(str, (char *)heap_of(&f.history), "0/0 5/7 5/5 5/5 1/6 1/1"));
	cr_expect(eq(dbl, f.history.slices[1].allocations.value, 3));
	cr_expect(eq(dbl, f.history.slices[2].allocations.value, 0));
	cr_expect(eq(dbl, f.history.slices[4].allocated_bytes.value, 10));
	cr_expect(eq(dbl, f.history.slices[4].t_s, 0.004));
	end(&f);
}

Test(report_timeline, what_the_only_process_leaked_is_live_to_the_end)
{
	struct fixture f = start(3500);

	toy_slice(f.toy, slice(PROFILE_NONE, 1000, 5, 7, 3));
	toy_slice(f.toy, slice(PROFILE_NONE, 2000, 0, 5, 0)); /* its end */
	toy_slice(f.toy, slice(0, 1000, 5, 7, 3));
	analyze(&f, PROFILE_NONE, NULL);
	cr_expect(eq(str, (char *)heap_of(&f.history), "0/0 5/7 5/5 5/5"));
	end(&f);
}

Test(report_timeline, merges_slices_where_a_run_is_long)
{
	struct fixture f = start(1500 * 1000);

	toy_slice(f.toy, slice(PROFILE_NONE, 2000, 5, 7, 1));
	toy_slice(f.toy, slice(PROFILE_NONE, 3000, 2, 9, 2));
	analyze(&f, PROFILE_NONE, NULL);

	cr_expect(eq(dbl, f.history.slices[0].duration_s, 0.002));
	cr_expect(eq(sz, f.history.nr, 751));
	cr_expect(eq(dbl, f.history.slices[1].max_live_bytes.value, 9));
	cr_expect(eq(dbl, f.history.slices[1].live_bytes.value, 2));
	cr_expect(eq(dbl, f.history.slices[1].allocations.value, 3));
	end(&f);
}

Test(report_timeline, has_bounded_size_for_a_month)
{
	struct fixture f = start(INT64_C(30) * 86400 * 1000000);

	analyze(&f, PROFILE_NONE, NULL);
	cr_expect(le(sz, f.history.nr, 1025));
	cr_expect(gt(sz, f.history.nr, 500));
	end(&f);
}

Test(report_timeline, of_one_process_begins_and_ends_with_it)
{
	struct fixture f = start(20000);
	struct profile_process *child = toy_process(f.toy, "child", 101, 0);

	child->start_us = 5200;
	child->end_us = 8100;
	toy_slice(f.toy, slice(PROFILE_NONE, 1000, 5, 7, 3));
	toy_slice(f.toy, slice(1, 6000, 2, 3, 1));
	analyze(&f, 1, NULL);

	cr_expect(eq(dbl, f.history.slices[0].t_s, 0.005));
	cr_expect(eq(str, (char *)heap_of(&f.history), "0/0 2/3 2/2 2/2"));
	end(&f);
}

Test(report_timeline, adds_up_what_several_processes_hold_but_not_their_peaks)
{
	struct fixture f = start(4000);
	struct profile_process *child = toy_process(f.toy, "child", 100, 0);

	child->start_us = 1000;
	child->end_us = 2500;
	toy_process(f.toy, "other", 102, 0);
	toy_slice(f.toy, slice(PROFILE_NONE, 0, 99, 99, 9));
	toy_slice(f.toy, slice(0, 0, 5, 7, 3));
	toy_slice(f.toy, slice(1, 1000, 2, 3, 1));
	analyze(&f, PROFILE_NONE, &(struct select_options){ .pid = 100 });

	cr_expect(f.history.slices[0].max_live_bytes.absent != NULL);
	cr_expect(eq(dbl, f.history.slices[0].live_bytes.value, 5));
	cr_expect(eq(dbl, f.history.slices[1].live_bytes.value, 7));
	cr_expect(eq(dbl, f.history.slices[2].live_bytes.value, 7));
	cr_expect(eq(dbl, f.history.slices[3].live_bytes.value, 5));
	end(&f);
}

Test(report_timeline, holds_the_memory_last_seen_until_the_process_ends)
{
	struct fixture f = start(7000);
	struct profile_process *child = toy_process(f.toy, "child", 101, 0);

	child->start_us = 0;
	child->end_us = 4500;
	toy_memory(f.toy,
		   (struct profile_memory){ .process = 0, .time_us = 2500, .file_bytes = 7 });
	toy_memory(f.toy,
		   (struct profile_memory){ .process = 1, .time_us = 1100, .file_bytes = 10 });
	toy_memory(f.toy,
		   (struct profile_memory){ .process = 1, .time_us = 1200, .file_bytes = 30 });
	toy_memory(f.toy,
		   (struct profile_memory){ .process = 1, .time_us = 1300, .file_bytes = 20 });
	analyze(&f, PROFILE_NONE, NULL);

	cr_expect(eq(str, (char *)rss_of(&f.history), "- 30 27 27 27 7 7 7"));
	end(&f);
}

Test(report_timeline, has_fewer_and_longer_slices_where_that_is_asked)
{
	struct fixture f = start(8000);
	static const struct select_options all;
	struct error err = ERROR_INIT;

	toy_slice(f.toy, slice(0, 1000, 5, 9, 1));
	toy_slice(f.toy, slice(0, 2000, 4, 7, 2));
	toy_slice(f.toy, slice(0, 7000, 1, 6, 4));
	f.profile = toy_profile(f.toy);
	cr_assert_eq(selection_init(&f.selection, f.profile, &all, &err), 0);
	history_analyze(&f.history, f.profile,
			&(struct history_scope){ .selection = &f.selection, .slices = 4 });

	cr_expect(eq(dbl, f.history.slices[1].t_s, 0.004));
	cr_expect(eq(str, (char *)heap_of(&f.history), "4/9 1/6 1/1"));
	end(&f);
}

/* A second of each, in slices of up to 32 for 2,000, of a millisecond for one. */
Test(report_timeline, of_very_many_processes_has_few_slices_of_each)
{
	static const struct {
		size_t processes, slices;
	} cases[] = { { 1, 1000 }, { 32, 500 }, { 2000, 32 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f = start(999500);
		static const struct select_options all;
		struct analysis analysis;
		struct error err = ERROR_INIT;

		while (toy_profile(f.toy)->nr_processes < cases[i].processes)
			toy_process(f.toy, "app", 100, PROFILE_NONE)->start_us = 0;
		f.profile = toy_profile(f.toy);
		cr_assert_eq(selection_init(&f.selection, f.profile, &all, &err), 0);
		analysis_init(&analysis, f.profile, &f.selection,
			      &(struct analysis_options){ .process_sites = true });
		cr_expect(eq(sz, analysis.process_storage[0].heap.timeline.nr, cases[i].slices));
		analysis_release(&analysis);
		end(&f);
	}
}

Test(report_timeline, puts_samples_where_they_were_taken)
{
	struct fixture f = start(3000);
	uint32_t stack = toy_stack(f.toy, "main", NULL), ours = toy_stack(f.toy, "shim:hook", NULL);

	toy_module_kind(f.toy, "shim", PROFILE_MODULE_SELF);
	toy_event(f.toy, "cpu-clock", "ns");
	toy_moment(f.toy, stack, 100, 500000);
	toy_moment(f.toy, stack, 200, 500000);
	toy_moment(f.toy, ours, 1200, 500000);
	toy_moment(f.toy, stack, 2200, 1000000);
	toy_moment(f.toy, stack, 999999, 1000000); /* after the end: in the last one */
	analyze(&f, PROFILE_NONE, NULL);

	cr_expect(eq(dbl, f.history.slices[0].samples.value, 2));
	cr_expect(eq(dbl, f.history.slices[0].cpu_s.value, 0.001));
	cr_expect(eq(dbl, f.history.slices[1].samples.value, 0));
	cr_expect(eq(dbl, f.history.slices[2].samples.value, 1));
	cr_expect(eq(dbl, f.history.slices[3].samples.value, 1));
	end(&f);
}

/* --- memory at the peak -----------------------------------------------------------------------*/

static struct memory memory_of(struct fixture *f, uint32_t process, int64_t peak_us)
{
	const struct heap heap = { .tracked = true,
				   .peak_bytes = FIGURE(3 * MIB),
				   .peak_bytes_error = FIGURE_ABSENT("counted"),
				   .peak_time_s = FIGURE((double)peak_us / 1e6) };
	struct memory memory;

	memory_analyze(&memory, f->profile, &f->selection, process, &heap);
	return memory;
}

Test(report_memory, takes_the_look_nearest_to_the_peak)
{
	struct fixture f = start(9000);

	toy_slice(f.toy, slice(PROFILE_NONE, 0, 0, 0, 0));
	toy_slice(f.toy, slice(0, 3000, 2 * MIB, 3 * MIB, 1));
	toy_memory(f.toy, (struct profile_memory){ .time_us = 1000, .peak_rss_bytes = 4 * MIB });
	toy_memory(f.toy, (struct profile_memory){ .time_us = 3300,
						   .anonymous_bytes = 5 * MIB,
						   .file_bytes = MIB,
						   .shared_bytes = 512,
						   .swap_bytes = 7,
						   .peak_rss_bytes = 9 * MIB });
	toy_memory(f.toy, (struct profile_memory){ .time_us = 8000, .peak_rss_bytes = 8 * MIB });
	analyze(&f, PROFILE_NONE, NULL);

	struct memory memory = memory_of(&f, PROFILE_NONE, 3000);

	cr_expect(eq(dbl, memory.peak_rss_bytes.value, 9 * MIB));
	cr_expect(memory.at_heap_peak.known);
	cr_expect(eq(dbl, memory.at_heap_peak.time_s, 0.0033));
	cr_expect(eq(u64, memory.at_heap_peak.rss_bytes, 6 * MIB + 512));
	cr_expect(eq(u64, memory.at_heap_peak.heap_bytes, 3 * MIB));
	cr_expect(eq(dbl, memory.at_heap_peak.other_bytes.value, 2 * MIB));
	cr_expect(eq(ptr, (void *)memory.at_heap_peak.reason, NULL));
	end(&f);
}

Test(report_memory, does_not_subtract_more_than_is_resident)
{
	struct fixture f = start(9000);

	toy_slice(f.toy, slice(0, 3000, 2 * MIB, 3 * MIB, 1));
	toy_memory(f.toy, (struct profile_memory){ .time_us = 5000, .anonymous_bytes = MIB });
	analyze(&f, PROFILE_NONE, NULL);

	struct memory memory = memory_of(&f, PROFILE_NONE, 5000);

	cr_expect(eq(u64, memory.at_heap_peak.heap_bytes, 2 * MIB)); /* lasts */
	cr_expect(memory.at_heap_peak.other_bytes.absent != NULL);
	cr_expect(eq(str, (char *)memory.at_heap_peak.reason,
		     (char *)memory.at_heap_peak.other_bytes.absent));
	end(&f);
}

/* The heap's peak is 3 MiB. */
static bool is_partial(struct profile_memory first, struct profile_memory last, int64_t peak_us)
{
	struct fixture f = start(9000);
	bool partial;

	toy_slice(f.toy, slice(0, 3000, 2 * MIB, 3 * MIB, 1));
	toy_memory(f.toy, first);
	toy_memory(f.toy, last);
	analyze(&f, PROFILE_NONE, NULL);
	partial = memory_of(&f, PROFILE_NONE, peak_us).at_heap_peak.is_partial;
	end(&f);
	return partial;
}

Test(report_memory, only_the_most_that_was_ever_resident_says_that_not_all_of_the_heap_was)
{
	const struct profile_memory before = { .time_us = 1000, .peak_rss_bytes = MIB };
	const struct profile_memory less = { .time_us = 8000, .peak_rss_bytes = 2 * MIB };
	const struct profile_memory later = { .time_us = 8000, .peak_rss_bytes = 3 * MIB };
	const struct profile_memory touched = { .time_us = 3100, .peak_rss_bytes = MIB };

	cr_expect(is_partial(before, less, 3000));
	cr_expect(not(is_partial(touched, later, 3000)));
	cr_expect(not(is_partial(before, less, 8001)), "nobody looked after it");
}

Test(report_memory, says_why_nothing_was_seen)
{
	struct fixture f = start(9000);

	analyze(&f, PROFILE_NONE, NULL);
	cr_expect(eq(str, (char *)memory_of(&f, PROFILE_NONE, 1).reason,
		     "it ended before anybody looked"));
	end(&f);

	f = start(9000);
	toy_quality(f.toy, PROFILE_UNREADABLE, 3, PROFILE_MEMORY_UNREADABLE "Permission denied");
	analyze(&f, PROFILE_NONE, NULL);

	struct memory memory = memory_of(&f, PROFILE_NONE, 1);

	cr_expect(strstr(memory.reason, "Permission denied") != NULL);
	cr_expect(strstr(memory.at_heap_peak.reason, "Permission denied") != NULL);
	cr_expect(not(memory.at_heap_peak.known));
	end(&f);
}

/* --- bars -------------------------------------------------------------------------------------*/

static const char *bars(const double *numbers, size_t nr, size_t width, enum sparkline_of of)
{
	static char text[256];
	struct sparkline_scale scale = { nr, width };
	char *line = sparkline(numbers, &scale, of), *ascii = text_ascii(line);

	strcpy(text, ascii);
	free(ascii);
	free(line);
	return text;
}

Test(sparkline, draws_each_number_as_high_as_it_is)
{
	const double numbers[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, NAN, 0.001 };

	cr_expect(eq(str, (char *)bars(numbers, 11, 11, SPARKLINE_MOST), " .:-=+*#@ ."));
}

Test(sparkline, repeats_numbers_that_are_few)
{
	const double numbers[] = { 8, 4 };

	cr_expect(eq(str, (char *)bars(numbers, 2, 7, SPARKLINE_MOST), "@@@==="));
}

Test(sparkline, shows_the_most_or_the_mean_of_numbers_that_share_a_column)
{
	const double numbers[] = { 0, 8, 4, 4 };

	cr_expect(eq(str, (char *)bars(numbers, 4, 2, SPARKLINE_MOST), "@="));
	cr_expect(eq(str, (char *)bars(numbers, 4, 2, SPARKLINE_MEAN), "@@"));
}

Test(sparkline, knows_the_column_of_a_number)
{
	/* The only one that is not 0 has to be there. */
	for (size_t nr = 1; nr < 90; nr++)
		for (size_t i = 0; i < nr; i++) {
			double numbers[90] = { 0 };
			struct sparkline_scale scale = { nr, 30 };
			const char *line;

			numbers[i] = 1;
			line = bars(numbers, nr, 30, SPARKLINE_MOST);
			cr_assert(lt(sz, sparkline_column(&scale, i), strlen(line)));
			cr_assert(eq(chr, line[sparkline_column(&scale, i)], '@'));
		}
}

Test(sparkline, of_nothing_but_zeros_is_blank)
{
	const double numbers[] = { 0, 0, 0 };

	cr_expect(eq(str, (char *)bars(numbers, 3, 3, SPARKLINE_MOST), "   "));
}
