/* SPDX-License-Identifier: MIT */
#include "report/view/sections.h"

#define FEW_PROCESSES 12

void section_processes(struct page *page, const struct analysis *a)
{
	const struct column columns[] = {
		{ "pid", COLUMN_NUMBER, false },
		{ a->cpu.is_time ? "cpu_share" : "event_share", COLUMN_NUMBER, true },
		{ "heap_peak", COLUMN_NUMBER, false },
		{ "heap_allocations", COLUMN_NUMBER, false },
		{ "exit_status", COLUMN_NUMBER, false },
		{ "signal", COLUMN_NUMBER, false },
		{ "command", COLUMN_COMMAND, false },
		{ 0 },
	};
	size_t shown = page_limit(page, a->busy_processes.nr, FEW_PROCESSES);

	if (a->busy_processes.nr < 2)
		return;
	page_blank(page);
	page_label(page, "PROCESSES");
	page->nr_phrases = 1;
	page_end(page);
	page_table(page, &a->busy_processes, &process_fields, columns, shown);
	section_more(page, &a->busy_processes, shown);
}
