/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "report/view/sections.h"

static bool is_kind(const struct quality_row *row, enum profile_quality_kind kind)
{
	return !strcmp(row->kind, profile_quality_name(kind));
}

/* From what spoils a report to what is only not nice; the rest is said elsewhere. */
static const enum profile_quality_kind order[] = {
	PROFILE_INTERRUPTED, PROFILE_LOST,	PROFILE_BOUNDED,
	PROFILE_UNTRACKED,   PROFILE_TRUNCATED, PROFILE_UNREADABLE,
	PROFILE_THROTTLED,   PROFILE_NO_SYMBOL, PROFILE_SUBSTITUTED,
};

/* "14 stacks ended early (0.2 %): libfoo.so: no CFI" */
static char *sentence(const struct quality_row *row)
{
	static const char *const what[PROFILE_NR_QUALITY] = {
		[PROFILE_LOST] = "lost",
		[PROFILE_TRUNCATED] = "stacks ended early",
		[PROFILE_NO_SYMBOL] = "without names",
	};
	char share[40] = "";

	for (size_t kind = 0; kind < ARRAY_SIZE(what); kind++) {
		if (!what[kind] || !is_kind(row, (enum profile_quality_kind)kind))
			continue;
		if (!row->share.absent)
			snprintf(share, sizeof(share), " (%s)",
				 units_percent(row->share.value).text);
		return xasprintf("%s %s%s: %s", units_count(row->count).text, what[kind], share,
				 row->detail ?: "");
	}
	return xasprintf("%s: %s", row->kind, row->detail ?: "");
}

static const char *meaning(enum profile_quality_kind kind)
{
	static const char *const meanings[PROFILE_NR_QUALITY] = {
		[PROFILE_LOST] = "samples the kernel had no room for",
		[PROFILE_TRUNCATED] = "stacks without their outermost frames",
		[PROFILE_NO_SYMBOL] = "code known by its address only",
		[PROFILE_NO_DEBUG] = "code without files and lines",
		[PROFILE_UNTRACKED] = "processes whose heap was not seen",
		[PROFILE_THROTTLED] = "the kernel sampled less often for a while",
		[PROFILE_SUBSTITUTED] = "another event was sampled than asked for",
		[PROFILE_BOUNDED] = "heap figures are bounds, not exact",
		[PROFILE_OVERHEAD] = "what cprof itself cost",
		[PROFILE_UNREADABLE] = "files or memory that could not be read",
		[PROFILE_INTERRUPTED] = "the recording did not end as it should",
	};

	return meanings[kind];
}

static void print_entry(struct page *page, const struct quality_row *row)
{
	page_begin(page);
	page->indent = 4;
	page_tinted(page, TINT_NONE, "  ");
	page_phrase(page, "%s", units_count(row->count).text);
	if (!row->share.absent)
		page_phrase(page, "%s", units_percent(row->share.value).text);
	if (row->detail)
		page_words(page, row->detail);
	page_end(page);
}

static void print_kind(struct page *page, const struct analysis *a, enum profile_quality_kind kind)
{
	bool named = false;

	for (size_t i = 0; i < a->quality.nr; i++) {
		if (!is_kind(a->quality.at[i], kind))
			continue;
		if (!named) {
			page_begin(page);
			page_tinted(page, TINT_BOLD, profile_quality_name(kind));
			page_phrase(page, ": %s", meaning(kind));
			page_end(page);
		}
		named = true;
		print_entry(page, a->quality.at[i]);
	}
}

void section_ledger(struct page *page, const struct analysis *a)
{
	if (!a->quality.nr)
		fputs("nothing: all was measured as it should be\n", page->out);
	for (int kind = 0; kind < PROFILE_NR_QUALITY; kind++)
		print_kind(page, a, (enum profile_quality_kind)kind);
}

static void say(struct page *page, const struct quality_row *row, bool first)
{
	static const char label[] = "not in the clean: ";
	char *text = sentence(row);

	page_begin(page);
	page->indent = sizeof(label) - 1;
	page_tinted(page, TINT_NONE, first ? label : "                  ");
	page_words(page, text);
	page_end(page);
	free(text);
}

static void say_overhead(struct page *page, const struct analysis *a)
{
	bool inside = a->cpu.overhead_samples > 0, beside = !a->recorder_s.absent;

	if (!inside && !beside)
		return;
	page_begin(page);
	page_tinted(page, TINT_NONE, "cprof itself: ");
	if (inside)
		page_phrase(page, "%s of CPU (left out above)",
			    units_percent(a->cpu.overhead_share).text);
	if (beside)
		page_phrase(page, "%s of CPU beside the program",
			    units_time((int64_t)(a->recorder_s.value * 1e9)).text);
	page_end(page);
}

/* Why another event was sampled stands above already. */
static bool is_said(const struct analysis *a, const struct quality_row *row)
{
	return is_kind(row, PROFILE_SUBSTITUTED) && a->cpu.reason && row->detail &&
	       !strcmp(row->detail, a->cpu.reason);
}

void section_quality(struct page *page, const struct analysis *a, size_t nr)
{
	size_t all = 0;

	say_overhead(page, a);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		for (size_t j = 0; j < a->quality.nr; j++) {
			const struct quality_row *row = a->quality.at[j];

			if (!is_kind(row, order[i]) || is_said(a, row))
				continue;
			if (all < nr)
				say(page, row, all == 0);
			all++;
		}
	if (all <= nr)
		return;
	page_begin(page);
	page_phrase(page, "and %zu more: cprof report quality", all - nr);
	page_end(page);
}
