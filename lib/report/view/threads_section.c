/* SPDX-License-Identifier: MIT */
#include "report/view/sections.h"

static bool is_one_process(const struct rows *rows)
{
	const struct thread_row *first = rows->nr ? rows->at[0] : NULL;

	for (size_t i = 1; i < rows->nr; i++) {
		const struct thread_row *row = rows->at[i];

		if (row->pid != first->pid || row->image != first->image)
			return false;
	}
	return first;
}

/* Beside the first ones of processes, of which it is known what they began in. */
static bool has_other_threads(const struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		const struct thread_row *row = rows->at[i];

		if (row->tid != row->pid && row->start_function)
			return true;
	}
	return false;
}

/* What each thread is of: processes have commands, and their threads functions that they began in. */
static void add_columns(struct column *columns, const struct rows *rows)
{
	bool one = is_one_process(rows), threads = has_other_threads(rows);

	while (columns->key)
		columns++;
	if (threads)
		*columns++ =
			(struct column){ "start_function", one ? COLUMN_NAME : COLUMN_WORD, false };
	if (!threads || !one)
		*columns = (struct column){ "command", COLUMN_COMMAND, false };
}

void section_threads(struct page *page, const struct analysis *a, size_t nr)
{
	/* What is left of them on a narrow terminal comes first. */
	struct column columns[13] = {
		{ a->cpu.is_time ? "share" : "event_share", COLUMN_NUMBER, true },
		{ "allocations", COLUMN_NUMBER, false },
		{ "tid", COLUMN_NUMBER, false },
		{ "pid", COLUMN_NUMBER, false },
		{ "allocated_bytes", COLUMN_NUMBER, false },
		{ "start_s", COLUMN_NUMBER, false },
		{ "end_s", COLUMN_NUMBER, false },
		{ "frees", COLUMN_NUMBER, false },
		{ "samples", COLUMN_NUMBER, false },
		{ "comm", COLUMN_WORD, false },
	};

	add_columns(columns, &a->threads.rows);
	if (a->threads.rows.nr && a->cpu.sampled && !a->cpu.is_time) {
		page_begin(page);
		phrase_shares(page, &a->cpu);
		page_end(page);
		page_blank(page);
	}
	page_table(page, &a->threads.rows, &thread_fields, columns, nr);
	section_none(page, "threads", &a->threads.rows);
}
