/* SPDX-License-Identifier: MIT */
#include "report/analyze/heap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "toy_profile.h"

#define near(value, expected) cr_expect(lt(dbl, fabs((value) - (expected)), 1e-9))

struct fixture {
	struct chains chains;
	struct heap_places places;
	struct heap heap;
	bool processes[8];
};

static void analyze(struct fixture *f, struct toy *toy, uint32_t process)
{
	const struct profile *profile = toy_profile(toy);

	memset(f->processes, true, sizeof(f->processes));
	chains_init(&f->chains, profile, false);
	heap_places_init(&f->places, &f->chains);
	heap_analyze(&f->heap, profile, &f->places,
		     &(struct heap_scope){ .process = process, .processes = f->processes });
}

static void release(struct fixture *f, struct toy *toy)
{
	heap_release(&f->heap);
	heap_places_release(&f->places);
	chains_release(&f->chains);
	toy_free(toy);
}

static const struct heap_site *site(const struct fixture *f, size_t i)
{
	return f->heap.sites.at[i];
}

/* "main < a < malloc": root first, as in JSON. */
static const char *names(const struct heap_site *site)
{
	static char joined[512];

	joined[0] = '\0';
	for (size_t i = 0; i < site->stack.nr; i++) {
		strcat(joined, i ? " < " : "");
		strcat(joined, site->stack.at[i]);
	}
	return joined;
}

#define has_names(site, expected) cr_expect(eq(str, (char *)names(site), (expected)))

static struct profile_heap_site *add(struct toy *toy, uint32_t stack, uint64_t allocations,
				     uint64_t bytes)
{
	struct profile_heap_site *row = toy_site(toy, 0, stack, PROFILE_MALLOC);

	row->allocations = allocations;
	row->allocated_bytes = row->at_peak_bytes = row->at_tree_peak_bytes = bytes;
	return row;
}

Test(report_heap, stacks_of_equal_names_files_and_lines_are_one_site)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_heap(toy, 0);
	add(toy, toy_stack(toy, "main@m.c:1", "f@f.c:2", NULL), 3, 30)->frees = 1;
	add(toy, toy_stack(toy, "main@m.c:1", "liba.so:f@f.c:2", NULL), 4, 40)->frees = 2;
	add(toy, toy_stack(toy, "main@m.c:1", "f@f.c:3", NULL), 5, 500);
	analyze(&f, toy, PROFILE_NONE);

	cr_assert(eq(sz, f.heap.sites.nr, 2));
	cr_expect(eq(u64, site(&f, 0)->allocations, 5));
	cr_expect(eq(u64, site(&f, 1)->allocations, 7));
	cr_expect(eq(u64, site(&f, 1)->allocated_bytes, 70));
	cr_expect(eq(u64, site(&f, 1)->at_peak_bytes, 70));
	cr_expect(eq(u64, site(&f, 1)->frees, 3));
	release(&f, toy);
}

Test(report_heap, the_allocation_function_is_part_of_the_site)
{
	struct toy *toy = toy_new();
	uint32_t stack = toy_stack(toy, "main@m.c:1", NULL);
	struct fixture f;

	toy_heap(toy, 0);
	toy_site(toy, 0, stack, PROFILE_MALLOC)->at_peak_bytes = 2;
	toy_site(toy, 0, stack, PROFILE_POSIX_MEMALIGN)->at_peak_bytes = 1;
	analyze(&f, toy, PROFILE_NONE);

	cr_assert(eq(sz, f.heap.sites.nr, 2));
	has_names(site(&f, 0), "main < malloc");
	has_names(site(&f, 1), "main < posix_memalign");
	release(&f, toy);
}

Test(report_heap, inlined_frames_are_part_of_the_stack)
{
	struct toy *toy = toy_new();
	const struct heap_place *place;
	struct fixture f;

	toy_heap(toy, 0);
	add(toy, toy_stack(toy, "main@m.c:1|push@v.h:4|grow@v.h:9", NULL), 1, 1);
	analyze(&f, toy, PROFILE_NONE);

	has_names(site(&f, 0), "main < push < grow < malloc");
	place = site(&f, 0)->frames.at[2];
	cr_expect(place->inlined);
	cr_expect(eq(str, (char *)place->file, "v.h"));
	cr_expect(eq(u32, place->line, 9));
	place = site(&f, 0)->frames.at[0];
	cr_expect(not(place->inlined));
	release(&f, toy);
}

Test(report_heap, stacks_start_after_the_start_code_of_libc)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_heap(toy, 0);
	add(toy,
	    toy_stack(toy, "_start", "libc.so.6:__libc_start_main_impl",
		      "libc.so.6:__libc_start_call_main", "main", "a", NULL),
	    1, 9);
	/* as it looks without debug information: only exported names */
	add(toy,
	    toy_stack(toy, "app+0x1060", "libc.so.6:__libc_start_main",
		      "libc.so.6:libc.so.6+0x2718a", "app+0x1149", "b", NULL),
	    1, 8);
	add(toy, toy_stack(toy, "libc.so.6:clone3", "libc.so.6:start_thread", "worker", NULL), 1,
	    7);
	add(toy,
	    toy_stack(toy, "libc.so.6:?1000", "libc.so.6:?2000", "libstdc++.so.6:run", "job", NULL),
	    1, 6);
	add(toy,
	    toy_stack(toy, "ld-linux-x86-64.so.2:_dl_start_user", "ld-linux-x86-64.so.2:_dl_init",
		      "ld-linux-x86-64.so.2:call_init", "libx.so:construct", NULL),
	    1, 5);
	add(toy, toy_stack(toy, "ld-musl-x86_64.so.1:libc_start_main_stage2", "main", "c", NULL), 1,
	    4);
	analyze(&f, toy, PROFILE_NONE);

	has_names(site(&f, 0), "main < a < malloc");
	has_names(site(&f, 1), "app+0x1149 < b < malloc");
	has_names(site(&f, 2), "worker < malloc");
	has_names(site(&f, 3), "run < job < malloc");
	has_names(site(&f, 4), "construct < malloc");
	has_names(site(&f, 5), "main < c < malloc");
	release(&f, toy);
}

Test(report_heap, libc_frames_that_are_not_start_code_stay)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_heap(toy, 0);
	add(toy, toy_stack(toy, "_start", "main", "libc.so.6:?77", "compare", NULL), 1, 3);
	add(toy, toy_stack(toy, "libc.so.6:?1", "libc.so.6:?2", NULL), 1, 2);
	add(toy, toy_stack(toy, "...", "libc.so.6:?3", "f", NULL), 1, 1);
	analyze(&f, toy, PROFILE_NONE);

	has_names(site(&f, 0), "main < libc.so.6+0x77 < compare < malloc");
	has_names(site(&f, 1), "libc.so.6+0x2 < malloc"); /* something must be left */
	has_names(site(&f, 2), "[callers missing] < libc.so.6+0x3 < f < malloc");
	release(&f, toy);
}

Test(report_heap, an_elided_recursion_is_one_frame)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_heap(toy, 0);
	add(toy, toy_stack(toy, "main", "f", "...120", "f", NULL), 1, 1);
	analyze(&f, toy, PROFILE_NONE);

	has_names(site(&f, 0), "main < f < \xe2\x80\xa6 120 frames < f < malloc");
	release(&f, toy);
}

Test(report_heap, the_tree_is_shown_at_its_own_peak_and_a_process_at_its_own)
{
	struct toy *toy = toy_new();
	uint32_t child = toy_process(toy, "cc1", 200, 0)->id, stack = toy_stack(toy, "main", NULL);
	struct profile_heap_site *row;
	struct fixture f;

	toy_heap(toy, PROFILE_NONE)->peak_bytes = 150;
	toy_heap(toy, 0)->peak_bytes = 100;
	toy_heap(toy, child)->peak_bytes = 90;
	row = toy_site(toy, 0, stack, PROFILE_MALLOC);
	row->at_peak_bytes = 100;
	row->at_tree_peak_bytes = 60;
	row = toy_site(toy, child, stack, PROFILE_MALLOC);
	row->at_peak_bytes = row->at_tree_peak_bytes = 90;

	analyze(&f, toy, PROFILE_NONE);
	cr_assert(eq(sz, f.heap.sites.nr, 1));
	near(f.heap.peak_bytes.value, 150);
	cr_expect(eq(u64, site(&f, 0)->at_peak_bytes, 150));
	heap_release(&f.heap);
	heap_places_release(&f.places);
	chains_release(&f.chains);

	analyze(&f, toy, 0);
	near(f.heap.peak_bytes.value, 100);
	cr_expect(eq(u64, site(&f, 0)->at_peak_bytes, 100));
	release(&f, toy);
}

Test(report_heap, several_processes_without_a_common_clock_have_no_peak)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_process(toy, "cc1", 200, 0);
	toy_heap(toy, 0)->allocations = 3;
	toy_heap(toy, 1)->allocations = 4;
	analyze(&f, toy, PROFILE_NONE);

	cr_expect(eq(u64, f.heap.allocations, 7));
	cr_expect(ne(ptr, (void *)f.heap.peak_bytes.absent, NULL));
	release(&f, toy);
}

Test(report_heap, churn_is_what_was_freed_before_the_end)
{
	struct toy *toy = toy_new();
	struct profile_heap *heap = toy_heap(toy, PROFILE_NONE);
	struct fixture f;

	heap->allocations = 10;
	heap->temporary = 4;
	heap->allocated_bytes = 1000;
	heap->live_bytes = 250;
	heap->churn[1].bytes = 750;
	heap->churn[1].blocks = 9;
	analyze(&f, toy, PROFILE_NONE);

	cr_expect(eq(u64, f.heap.churn.bytes, 750));
	near(f.heap.churn.share.value, 0.75);
	near(f.heap.temporary_share, 0.4);
	cr_expect(eq(sz, f.heap.churn.by_lifetime.nr, 4));
	near(f.heap.churn.classes[1].below_s.value, 1e-3);
	cr_expect(eq(u64, f.heap.churn.classes[1].blocks, 9));
	cr_expect(ne(ptr, (void *)f.heap.churn.classes[3].below_s.absent, NULL));
	release(&f, toy);
}

Test(report_heap, lifetimes_are_means_over_merged_rows)
{
	struct toy *toy = toy_new();
	struct profile_heap_site *row;
	struct fixture f;

	toy_heap(toy, 0);
	row = add(toy, toy_stack(toy, "main@m.c:1", "f@f.c:2", NULL), 1, 9);
	row->lifetime_us = 3000000;
	row->lifetime_blocks = 1;
	row = add(toy, toy_stack(toy, "main@m.c:1", "lib:f@f.c:2", NULL), 2, 9);
	row->lifetime_us = 1000000;
	row->lifetime_blocks = 3;
	add(toy, toy_stack(toy, "main@m.c:2", NULL), 1, 1);
	analyze(&f, toy, PROFILE_NONE);

	near(site(&f, 0)->mean_lifetime_s.value, 1);
	cr_expect(eq(str, (char *)site(&f, 1)->mean_lifetime_s.absent, "none was freed"));
	release(&f, toy);
}

static struct profile_histogram histogram(const struct profile_class *classes, size_t nr)
{
	return (struct profile_histogram){ classes, nr };
}

/* "16:3 64:2" */
static const char *sizes(const struct rows *rows)
{
	static char text[256];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < rows->nr; i++) {
		const struct heap_size *size = rows->at[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lu:%lu",
					 i ? " " : "", (unsigned long)size->most_bytes,
					 (unsigned long)size->blocks);
	}
	return text;
}

#define has_sizes(rows, expected) cr_expect(eq(str, (char *)sizes(rows), (expected)))

Test(report_heap, histograms_are_sums_over_merged_rows)
{
	const struct profile_class a[] = { { 16, 1 }, { 64, 2 } }, b[] = { { 32, 4 }, { 64, 8 } };
	const struct profile_class ages[] = { { 10, 3 }, { UINT64_MAX, 1 } };
	struct toy *toy = toy_new();
	struct profile_heap_site *row;
	struct fixture f;

	toy_heap(toy, 0);
	row = add(toy, toy_stack(toy, "main@m.c:1", "f@f.c:2", NULL), 1, 9);
	row->sizes = histogram(a, 2);
	row->lifetimes = histogram(ages, 2);
	row = add(toy, toy_stack(toy, "main@m.c:1", "lib:f@f.c:2", NULL), 2, 9);
	row->sizes = histogram(b, 2);
	row->lifetimes = histogram(ages, 1);
	analyze(&f, toy, PROFILE_NONE);

	has_sizes(&site(&f, 0)->sizes, "16:1 32:4 64:10");
	cr_assert(eq(sz, f.heap.lifetimes.nr, 2));

	const struct heap_age *shorter = f.heap.lifetimes.at[0], *longest = f.heap.lifetimes.at[1];

	near(shorter->below_s.value, 1e-5);
	cr_expect(eq(u64, shorter->blocks, 6));
	near(shorter->share, 6.0 / 7);
	cr_expect(ne(ptr, (void *)longest->below_s.absent, NULL));
	cr_expect(eq(u64, longest->blocks, 1));
	release(&f, toy);
}

static struct toy *two_allocators(bool second_is_known)
{
	struct toy *toy = toy_new();
	struct profile_heap *heap;

	toy_process(toy, "cc1", 200, 0);
	for (uint32_t process = 0; process < 2; process++) {
		heap = toy_heap(toy, process);
		heap->allocations = 1;
		heap->allocator = process ? "libother.so" : "libc.so.6";
		heap->slack_known = !process || second_is_known;
	}
	toy_size(toy, (struct profile_heap_size){ 0, 16, 3, 30, 10 });
	toy_size(toy, (struct profile_heap_size){ 0, 64, 1, 60, 5 });
	toy_size(toy, (struct profile_heap_size){ 1, 16, 2, 20, 20 });
	return toy;
}

Test(report_heap, slack_is_the_sum_of_what_is_known)
{
	struct toy *toy = two_allocators(true);
	struct fixture f;

	analyze(&f, toy, PROFILE_NONE);
	has_sizes(&f.heap.sizes, "16:5 64:1");
	near(f.heap.slack_bytes.value, 35);
	near(((const struct heap_size *)f.heap.sizes.at[0])->slack_share.value, 30.0 / 50);
	cr_expect(eq(ptr, (void *)f.heap.allocator, NULL));
	release(&f, toy);
}

Test(report_heap, slack_is_not_known_where_that_of_one_process_is_not)
{
	struct toy *toy = two_allocators(false);
	struct fixture f;

	analyze(&f, toy, PROFILE_NONE);
	cr_expect(eq(str, (char *)f.heap.slack_bytes.absent,
		     "how large libother.so makes blocks is not known"));
	cr_expect(ne(ptr,
		     (void *)((const struct heap_size *)f.heap.sizes.at[0])->slack_bytes.absent,
		     NULL));
	heap_release(&f.heap);

	heap_analyze(&f.heap, toy_profile(toy), &f.places,
		     &(struct heap_scope){ .process = 0, .processes = f.processes });
	near(f.heap.slack_bytes.value, 15);
	cr_expect(eq(str, (char *)f.heap.allocator, "libc.so.6"));
	release(&f, toy);
}

Test(report_heap, an_untracked_program_has_no_figures_but_the_reason)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_run(toy)->heap_tracked = false;
	toy_run(toy)->heap_reason = "./app is statically linked";
	analyze(&f, toy, PROFILE_NONE);

	cr_expect(not(f.heap.tracked));
	cr_expect(eq(str, (char *)f.heap.reason, "./app is statically linked"));
	cr_expect(eq(sz, f.heap.sites.nr, 0));
	release(&f, toy);
}

Test(report_heap, a_recording_that_was_cut_off_has_the_figures_so_far)
{
	struct toy *toy = toy_new();
	struct fixture f;

	toy_run(toy)->complete = false;
	toy_run(toy)->heap_tracked = false; /* written at the end only */
	toy_heap(toy, 0)->allocations = 7;
	analyze(&f, toy, PROFILE_NONE);

	cr_expect(f.heap.tracked);
	cr_expect(eq(u64, f.heap.allocations, 7));
	release(&f, toy);
}
