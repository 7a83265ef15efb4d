/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/units.h"
#include "report/view/estimate.h"
#include "report/view/histograms.h"
#include "report/view/sections.h"

#define FEW_HANDOFFS 5

/* Then its sums are 0, which are estimates of nothing. */
static bool is_sample_empty(const struct heap *heap)
{
	return !heap->sample_bytes.absent && !(heap->peak_bytes.value > 0);
}

static void say_peak(struct page *page, const struct heap *heap)
{
	char when[48] = "", bound[48] = "";

	if (heap->peak_bytes.absent) {
		page_phrase(page, "peak not known: %s", heap->peak_bytes.absent);
		return;
	}
	if (is_sample_empty(heap)) {
		page_phrase(page, "peak not known: no block was in the sample");
		return;
	}
	if (!heap->peak_time_s.absent)
		snprintf(when, sizeof(when), " at %s", units_seconds(heap->peak_time_s.value).text);
	if (!heap->peak_most_bytes.absent)
		snprintf(bound, sizeof(bound), ", at most %s",
			 units_size((uint64_t)heap->peak_most_bytes.value).text);
	page_phrase(page, "peak %s%s%s%s%s (%s block%s)", heap->peak_exact ? "" : "about ",
		    units_size((uint64_t)heap->peak_bytes.value).text,
		    estimate_error(&heap->peak_bytes_error).text, bound, when,
		    units_count((uint64_t)heap->peak_blocks.value).text,
		    (uint64_t)heap->peak_blocks.value == 1 ? "" : "s");
}

static void say_allocations(struct page *page, const struct heap *heap)
{
	page_phrase(page, "%s allocation%s, %s", units_count(heap->allocations).text,
		    heap->allocations == 1 ? "" : "s", units_size(heap->allocated_bytes).text);
}

/* What was lost may have been a free, or an allocation. */
static void say_live(struct page *page, const struct heap *heap)
{
	const char *seen = heap->lost_events ? "seen " : "";

	if (heap->live_blocks)
		page_phrase(page, "%s%s in %s block%s not %sfreed",
			    units_size(heap->live_bytes).text,
			    estimate_error(&heap->live_bytes_error).text,
			    units_count(heap->live_blocks).text, heap->live_blocks == 1 ? "" : "s",
			    seen);
	else if (heap->sample_bytes.absent)
		page_phrase(page, "all %sfreed", heap->lost_events ? "that was seen is " : "");
	else if (!is_sample_empty(heap))
		page_phrase(page, "all of the sample freed");
	if (heap->lost_events)
		page_phrase(page, "%s event%s lost", units_count(heap->lost_events).text,
			    heap->lost_events == 1 ? "" : "s");
	if (heap->live_at_exec_blocks)
		page_phrase(page, "%s of these went at an exec",
			    units_size(heap->live_at_exec_bytes).text);
}

static void say_inherited(struct page *page, const struct heap *heap)
{
	if (heap->inherited_bytes)
		page_phrase(page, "forked children inherited %s and freed %s block%s of it",
			    units_size(heap->inherited_bytes).text,
			    units_count(heap->inherited_frees).text,
			    heap->inherited_frees == 1 ? "" : "s");
}

/* The first class with which more than half of the freed bytes are gone. */
static const struct heap_lifetime *usual_lifetime(const struct heap_churn *churn)
{
	uint64_t all = 0, so_far = 0;

	for (size_t i = 0; i < PROFILE_NR_LIFETIMES; i++)
		all += churn->classes[i].bytes;
	for (size_t i = 0; i < PROFILE_NR_LIFETIMES; i++) {
		so_far += churn->classes[i].bytes;
		if (so_far > all / 2)
			return &churn->classes[i];
	}
	return NULL;
}

static void say_churn(struct page *page, const struct heap *heap)
{
	const struct heap_lifetime *usual = usual_lifetime(&heap->churn);
	struct units_text share;

	if (heap->churn.share.absent || is_sample_empty(heap))
		return;
	share = units_percent(heap->churn.share.value);
	if (!usual)
		page_phrase(page, "%s of the bytes freed", share.text);
	else if (usual->below_s.absent)
		page_phrase(page, "%s of the bytes freed, most after 100 ms or more", share.text);
	else
		page_phrase(page, "%s of the bytes freed, most within %.0f %s", share.text,
			    usual->below_s.value * (usual->below_s.value < 1e-3 ? 1e6 : 1e3),
			    usual->below_s.value < 1e-3 ? "us" : "ms");
}

static void say_untracked(struct page *page, const struct heap *heap)
{
	bool off = heap->mode && !strcmp(heap->mode, "off");

	page_words(page, off ? "not recorded" : heap->withheld ? "not shown" : "not tracked");
	page_words(page, heap->reason);
	page_end(page);
}

static void say_counted(struct page *page, const struct heap *heap)
{
	say_allocations(page, heap);
	page_phrase(page, "%s free%s", units_count(heap->frees).text, heap->frees == 1 ? "" : "s");
	page_phrase(page, "%s reallocation%s", units_count(heap->reallocations).text,
		    heap->reallocations == 1 ? "" : "s");
	page_end(page);
	page_label(page, NULL);
	page_words(page, heap->reason);
	page_end(page);
}

static void say_sample(struct page *page, const struct heap *heap)
{
	if (heap->sample_bytes.absent)
		return;
	page_label(page, NULL);
	page_phrase(page,
		    "estimated from a sample, about one block each %s, with standard errors; "
		    "the numbers of operations and bytes allocated are counted",
		    units_size((uint64_t)heap->sample_bytes.value).text);
	page_end(page);
}

void section_heap_brief(struct page *page, const struct heap *heap)
{
	page_label(page, "HEAP");
	if (!heap->tracked) {
		say_untracked(page, heap);
		return;
	}
	if (!heap->followed) {
		say_counted(page, heap);
		return;
	}
	say_peak(page, heap);
	page_end(page);

	page_label(page, NULL);
	say_allocations(page, heap);
	say_live(page, heap);
	page_end(page);
	say_sample(page, heap);
}

static void say_faults(struct page *page, const struct heap *heap)
{
	if (heap->page_faults.absent || heap->page_faults.value <= 0)
		return;
	page_label(page, NULL);
	page_phrase(
		page, "%s page faults, %s of them in blocks",
		units_count((uint64_t)heap->page_faults.value).text,
		units_percent(heap->page_faults_in_blocks.value / heap->page_faults.value).text);
	page_end(page);
}

void section_heap(struct page *page, const struct heap *heap)
{
	section_heap_brief(page, heap);
	if (!heap->tracked || !heap->followed)
		return;
	page_label(page, NULL);
	say_churn(page, heap);
	if (heap->allocations)
		page_phrase(page, "temporary %s", units_percent(heap->temporary_share).text);
	if (heap->moved.value > 0)
		page_phrase(page, "%s reallocation%s, %s moved, %s copied",
			    units_count(heap->reallocations).text,
			    heap->reallocations == 1 ? "" : "s",
			    units_count((uint64_t)heap->moved.value).text,
			    units_size((uint64_t)heap->copied_bytes.value).text);
	say_inherited(page, heap);
	page_end(page);
	say_faults(page, heap);
}

/* --- sizes and lifetimes --- */

static void say_part(struct page *page, const char *what, struct figure part, double whole)
{
	if (!part.absent && whole > 0)
		page_phrase(page, "%s %s (%s)", what, units_size((uint64_t)part.value).text,
			    units_percent(part.value / whole).text);
}

static void say_slack(struct page *page, const struct heap *heap)
{
	if (heap->slack_bytes.absent) {
		page_phrase(page, "slack not known: %s", heap->slack_bytes.absent);
		return;
	}
	say_part(page, "slack at peak", heap->at_peak_slack_bytes, heap->peak_bytes.value);
	say_part(page, "of all asked for", heap->slack_bytes, (double)heap->allocated_bytes);
	if (heap->allocator)
		page_phrase(page, "malloc of %s", heap->allocator);
}

static void say_handoffs(struct page *page, const struct heap *heap)
{
	static const struct column columns[] = {
		{ "frees", COLUMN_NUMBER, false },
		{ "share", COLUMN_NUMBER, false },
		{ "freed_bytes", COLUMN_NUMBER, false },
		{ "from", COLUMN_WORD, false },
		{ "to", COLUMN_WORD, false },
		{ 0 },
	};
	const struct rows *rows = &heap->handoffs.rows;
	size_t nr = page_limit(page, rows->nr, FEW_HANDOFFS);

	if (!heap->handoffs.frees)
		return;
	page_label(page, "CROSS");
	page_phrase(page, "%s of %s frees (%s) by another thread than allocated the block",
		    units_count(heap->handoffs.frees).text, units_count(heap->frees).text,
		    units_percent((double)heap->handoffs.frees / (double)heap->frees).text);
	page_phrase(page, "%s", units_size(heap->handoffs.freed_bytes).text);
	page_end(page);
	page_table(page, rows, &handoff_fields, columns, nr);
	section_more(page, rows, nr);
}

void section_heap_classes(struct page *page, const struct heap *heap)
{
	static const struct column columns[] = {
		{ "most_bytes", COLUMN_NUMBER, false },
		{ "blocks", COLUMN_NUMBER, false },
		{ "share", COLUMN_NUMBER, false },
		{ "bytes", COLUMN_NUMBER, false },
		{ "slack_bytes", COLUMN_NUMBER, false },
		{ "slack_share", COLUMN_NUMBER, false },
		{ 0 },
	};

	if (!heap->tracked || !heap->sizes.nr)
		return;
	if (heap->lifetimes.nr) {
		page_label(page, "LIVED");
		histograms_ages(page, "", &heap->lifetimes);
		page_end(page);
	}
	page_label(page, "SIZES");
	say_slack(page, heap);
	page_end(page);
	page_table(page, &heap->sizes, &size_fields, columns, heap->sizes.nr);
	say_handoffs(page, heap);
}
