/* SPDX-License-Identifier: MIT */
/* The table of a view by RFC 4180, with the keys of JSON on top; what is not known is empty. */
#include <inttypes.h>
#include <math.h>

#include "base/csv.h"
#include "report/view/view.h"

static bool has_column(const struct field *field)
{
	return !field->text_only && field->type != FIELD_OBJECT && field->type != FIELD_ROWS &&
	       field->type != FIELD_MAP;
}

static void put_value(struct value value, FILE *out)
{
	switch (value.kind) {
	case VALUE_BOOL:
		fputs(value.yes ? "true" : "false", out);
		break;
	case VALUE_INTEGER:
		fprintf(out, "%" PRId64, value.integer);
		break;
	case VALUE_REAL:
		if (isfinite(value.real))
			fprintf(out, "%.12g", value.real);
		break;
	case VALUE_TEXT:
		csv_put_text(value.text, out);
		break;
	case VALUE_TEXTS: /* stacks and command lines: one column */
		csv_put_words(value.texts->at, value.texts->nr, ';', out);
		break;
	case VALUE_ABSENT:
	case VALUE_OBJECT:
	case VALUE_ROWS:
		break;
	}
}

/* row: NULL for the heading. */
static void put_line(const struct fields *fields, const void *row, FILE *out)
{
	bool first = true;

	for (size_t i = 0; i < fields->nr; i++) {
		const struct field *field = &fields->at[i];

		if (!has_column(field))
			continue;
		fputs(first ? "" : ",", out);
		first = false;
		if (row)
			put_value(field_value(fields, field, row), out);
		else
			csv_put_text(field->key, out);
	}
	putc('\n', out);
}

static void render(const struct view *view, const struct analysis *analysis,
		   const struct style *style, FILE *out)
{
	const struct view_table *table = &view->tables[0];
	const struct rows *rows = (const void *)((const char *)analysis + table->rows);

	(void)style;
	put_line(table->fields, NULL, out);
	for (size_t i = 0; i < rows->nr; i++)
		put_line(table->fields, rows->at[i], out);
}

const struct renderer csv_renderer = { .render = render, .one_table = true };
