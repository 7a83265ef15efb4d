/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "report/view/sections.h"

static void print_reasons(struct page *page, const struct rows *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct module_row *row = rows->at[i];

		if (!row->reason)
			continue;
		char *text = xasprintf("%s: %s", row->name, row->reason);
		char *clean = text_clean(text);

		page_begin(page);
		page->indent = 4;
		page_words(page, clean);
		page_end(page);
		free(clean);
		free(text);
	}
}

static bool has_reason(const struct rows *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (((const struct module_row *)rows->at[i])->reason)
			return true;
	return false;
}

void section_modules(struct page *page, const struct analysis *a, size_t nr)
{
	static const struct column columns[] = {
		{ "self", COLUMN_NUMBER, true },
		{ "total", COLUMN_NUMBER, true },
		{ "allocations", COLUMN_NUMBER, false },
		{ "allocated_bytes", COLUMN_NUMBER, false },
		{ "unnamed", COLUMN_NUMBER, false },
		{ "names", COLUMN_WORD, false },
		{ "module", COLUMN_NAME, false },
		{ 0 },
	};

	page_table(page, &a->modules.rows, &module_fields, columns, nr);
	section_none(page, "modules", &a->modules.rows);
	if (has_reason(&a->modules.rows, nr)) {
		page_blank(page);
		print_reasons(page, &a->modules.rows, nr);
	}
}
