/* SPDX-License-Identifier: MIT */
#include "base/units.h"
#include "report/view/sections.h"

/*
 * What is not of blocks is what is left without them, if the look fits: it may be before the last
 * of them were touched, or after the first were freed.
 */
static void say_anonymous(struct page *page, const struct memory_moment *moment)
{
	if (!moment->other_bytes.absent) {
		page_phrase(page, "heap %s", units_size(moment->heap_bytes).text);
		page_phrase(page, "other anonymous %s",
			    units_size((uint64_t)moment->other_bytes.value).text);
		return;
	}
	if (moment->is_partial)
		page_phrase(page, "the heap at its peak was not all resident");
	page_phrase(page, "anonymous %s", units_size(moment->anonymous_bytes).text);
}

/* "16.5 MiB at 840 ms, near the heap's peak: heap 4.6 MiB, other anonymous 6.1 MiB, ..." */
static void say_moment(struct page *page, const struct memory_moment *moment)
{
	page_phrase(page, "%s at %s, near the heap's peak", units_size(moment->rss_bytes).text,
		    units_seconds(moment->time_s).text);
	say_anonymous(page, moment);
	page_phrase(page, "files %s", units_size(moment->file_bytes).text);
	if (moment->shared_bytes)
		page_phrase(page, "shared %s", units_size(moment->shared_bytes).text);
	if (moment->swap_bytes)
		page_phrase(page, "swapped out %s", units_size(moment->swap_bytes).text);
}

void section_memory(struct page *page, const struct memory *memory)
{
	page_label(page, "RSS");
	if (!memory->seen) {
		page_words(page, "not seen");
		page_words(page, memory->reason);
		page_end(page);
		return;
	}
	if (!memory->peak_rss_bytes.absent)
		page_phrase(page, "most %s",
			    units_size((uint64_t)memory->peak_rss_bytes.value).text);
	else
		page_phrase(page, "largest process %s", units_size(memory->most_of_one_bytes).text);
	if (memory->at_heap_peak.known)
		say_moment(page, &memory->at_heap_peak);
	page_end(page);
}
