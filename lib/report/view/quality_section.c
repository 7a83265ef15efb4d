/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "report/view/sections.h"

static bool is_kind(const char *kind, enum profile_quality_kind wanted)
{
	return !strcmp(kind, profile_quality_name(wanted));
}

/* "14 stacks ended early (0.2 %): no CFI in libfoo.so; and 2 more" */
static char *sentence(const struct quality_note *note)
{
	struct units_text count = units_count(note->count);
	const char *detail = note->detail ?: "", *s = note->count == 1 ? "" : "s";
	char share[40] = "", others[40] = "";

	if (!note->share.absent)
		snprintf(share, sizeof(share), " (%s)", units_percent(note->share.value).text);
	if (note->others)
		snprintf(others, sizeof(others), "; and %zu more", note->others);

	if (is_kind(note->kind, PROFILE_LOST))
		return xasprintf("%s lost%s: %s%s", count.text, share, detail, others);
	if (is_kind(note->kind, PROFILE_UNSAMPLED) && !note->share.absent)
		return xasprintf("%s sample%s missing%s: %s", count.text, s, share, detail);
	if (is_kind(note->kind, PROFILE_TRUNCATED))
		return xasprintf("%s stack%s ended early%s: %s%s", count.text, s, share, detail,
				 others);
	if (is_kind(note->kind, PROFILE_NO_SYMBOL))
		return xasprintf("%s sample%s%s in functions without a name, most in %s",
				 count.text, s, share, detail);
	if (is_kind(note->kind, PROFILE_OVERHEAD))
		return xstrdup(detail);
	return xasprintf("%s: %s%s", note->kind, detail, others);
}

static const char *meaning(enum profile_quality_kind kind)
{
	static const char *const meanings[PROFILE_NR_QUALITY] = {
		[PROFILE_LOST] = "samples, records or heap events that got lost",
		[PROFILE_TRUNCATED] = "stacks without their outermost frames",
		[PROFILE_STITCHED] = "stacks with frames that neither the copy nor CFI gave",
		[PROFILE_NO_SYMBOL] = "code known by its address only",
		[PROFILE_NO_DEBUG] = "code without files and lines",
		[PROFILE_UNTRACKED] = "processes whose heap was not seen",
		[PROFILE_THROTTLED] = "the kernel sampled less often for a while",
		[PROFILE_SUBSTITUTED] = "another event was sampled than asked for",
		[PROFILE_BOUNDED] = "figures that are bounds, or less exact than usual",
		[PROFILE_OVERHEAD] = "what cprof itself cost",
		[PROFILE_UNREADABLE] = "files or memory that could not be read",
		[PROFILE_INTERRUPTED] = "the recording did not end as it should",
		[PROFILE_UNSAMPLED] = "samples that never came",
	};

	return meanings[kind];
}

static void print_entry(struct page *page, const struct quality_row *row)
{
	page_begin(page);
	page->indent = 4;
	page_tinted(page, TINT_NONE, "  ");
	if (!row->is_no_count)
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
		if (!is_kind(((const struct quality_row *)a->quality.at[i])->kind, kind))
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

static void say(struct page *page, const struct quality_note *note, bool first)
{
	static const char label[] = "caveats: ";
	char *text = sentence(note);

	page_begin(page);
	page->indent = sizeof(label) - 1;
	page_tinted(page, TINT_NONE, first ? label : "         ");
	page_words(page, text);
	page_end(page);
	free(text);
}

#define MATERIAL_ERROR 0.01

/* "4.1 % of CPU (not in shares)"; of few samples "66.7 ± 38.2 % of CPU (not in shares)"; where no time
 * was sampled "36.2 ± 9.5 % of page-faults (not in shares)". */
static void say_overhead_inside(struct page *page, const struct cpu *cpu)
{
	const char *whole = cpu->is_time ? "CPU" : cpu->event;

	if (cpu->overhead_error < MATERIAL_ERROR)
		page_phrase(page, "%s of %s (not in shares)",
			    units_percent(cpu->overhead_share).text, whole);
	else
		page_phrase(page, "%.1f \xc2\xb1 %.1f %% of %s (not in shares)",
			    cpu->overhead_share * 100, cpu->overhead_error * 100, whole);
}

static void say_overhead(struct page *page, const struct analysis *a)
{
	static const char label[] = "cprof itself: ";
	bool inside = a->cpu.overhead_samples > 0, beside = !a->recorder_s.absent;
	bool in_memory = !a->shim_bytes.absent;

	if (!inside && !beside && !in_memory)
		return;
	page_begin(page);
	page->indent = sizeof(label) - 1;
	page_tinted(page, TINT_NONE, label);
	if (inside)
		say_overhead_inside(page, &a->cpu);
	if (beside)
		page_phrase(page, "%s of CPU beside the program",
			    units_seconds(a->recorder_s.value).text);
	if (in_memory)
		page_phrase(page, "about %s of %s", units_size((uint64_t)a->shim_bytes.value).text,
			    a->nr_pids > 1 ? "the memory of one process" : "its memory");
	page_end(page);
}

void section_quality(struct page *page, const struct analysis *a)
{
	say_overhead(page, a);
	for (size_t i = 0; i < a->notes.nr; i++)
		say(page, a->notes.at[i], i == 0);
}
