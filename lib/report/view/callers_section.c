/* SPDX-License-Identifier: MIT */
#include "report/view/sections.h"

void section_callers(struct page *page, const struct analysis *a, size_t nr)
{
	static const struct column columns[] = {
		{ "self", COLUMN_NUMBER, false },
		{ "total", COLUMN_NUMBER, true },
		{ "at_peak_bytes", COLUMN_NUMBER, false },
		{ "allocated_bytes", COLUMN_NUMBER, false },
		{ "calls", COLUMN_NUMBER, false },
		{ "caller", COLUMN_NAME, false },
		{ "name", COLUMN_WORD, false },
		{ 0 },
	};

	page_table(page, &a->callers.rows, &caller_fields, columns, nr);
	section_none(page, "callers", &a->callers.rows);
}
