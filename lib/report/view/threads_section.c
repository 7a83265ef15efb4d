/* SPDX-License-Identifier: MIT */
#include "report/view/sections.h"

void section_threads(struct page *page, const struct analysis *a, size_t nr)
{
	static const struct column columns[] = {
		{ "pid", COLUMN_NUMBER, false },
		{ "tid", COLUMN_NUMBER, false },
		{ "share", COLUMN_NUMBER, true },
		{ "allocations", COLUMN_NUMBER, false },
		{ "allocated_bytes", COLUMN_NUMBER, false },
		{ "frees", COLUMN_NUMBER, false },
		{ "samples", COLUMN_NUMBER, false },
		{ "start_s", COLUMN_NUMBER, false },
		{ "end_s", COLUMN_NUMBER, false },
		{ "comm", COLUMN_WORD, false },
		{ "command", COLUMN_COMMAND, false },
		{ 0 },
	};

	if (a->threads.rows.nr || a->threads.rows.left_out) {
		page_table(page, &a->threads.rows, &thread_fields, columns, nr);
		return;
	}
	page_begin(page);
	page_words(page, "no threads are known");
	page_words(page, a->cpu.sampled ? "none was seen" : a->cpu.reason);
	page_end(page);
}
