/* SPDX-License-Identifier: MIT */
/*
 * page - text for people: lines of phrases, tables, within a width.
 *
 *	page_label(page, "CPU");
 *	page_phrase(page, "%s on CPU", units_time(ns).text);
 *	page_phrase(page, "IPC %s", units_ratio(ipc).text);
 *	page_end(page);					// "CPU   4.10 s on CPU · IPC 1.43"
 *
 *	page_table(page, &analysis->cpu.functions, &function_fields, columns, 10);
 *
 * Phrases are kept whole where they fit a line; the next line is indented as the first one.
 * Texts given to phrases are safe to print; tables make what they show safe.
 */
#ifndef REPORT_VIEW_PAGE_H
#define REPORT_VIEW_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/view/field.h"
#include "report/view/view.h"

#define PAGE_INDENT 6
#define DOT "\xc2\xb7"

enum tint {
	TINT_NONE,
	TINT_BOLD,
	TINT_DIM,
	TINT_HOT,
	TINT_WARM,
};

struct page {
	FILE *out;
	struct style style;
	size_t column;	   /* of the line being written */
	size_t indent;	   /* of the line after it, if it gets too long */
	size_t nr_phrases; /* on it */
	size_t reserved;   /* columns of what is to stay behind the next phrase, on its line */
	size_t pending;	   /* columns of an indent that is not written yet */
};

/* A line feed on an empty line, or nothing to say. */
void page_blank(struct page *page);

/* Begins a line: label and indent, or just the indent where label is NULL. */
void page_label(struct page *page, const char *label);
/* Begins a line without indent. */
void page_begin(struct page *page);
void page_phrase(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Words of running text, separated from what is before as a phrase is. */
void page_words(struct page *page, const char *text);
void page_end(struct page *page);

/* Text in a colour, if the page has colours. */
void page_tinted(struct page *page, enum tint tint, const char *text);

enum column_kind {
	COLUMN_NUMBER, /* to the right, as wide as it needs */
	COLUMN_NAME,   /* a function; gets what is left, with other texts */
	COLUMN_WORD,   /* some other text; of what is left at most a third */
	COLUMN_STACK,  /* as COLUMN_NAME, for stacks */
	COLUMN_COMMAND,
};

struct column {
	const char *key;
	enum column_kind kind;
	bool heat; /* coloured by size; for shares */
};

/* How many rows of nr are shown, where the user has not said it and the view would show few. */
size_t page_limit(const struct page *page, size_t nr, size_t few);

/*
 * The first nr rows.  columns end with a NULL key; those of which no shown row has a value are
 * left out.
 */
void page_table(struct page *page, const struct rows *rows, const struct fields *fields,
		const struct column *columns, size_t nr);

#endif
