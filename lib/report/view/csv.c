/* SPDX-License-Identifier: MIT */
/* The table of a view by RFC 4180, with the keys of JSON on top; what is not known is empty. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/view/view.h"

static bool has_column(const struct field *field)
{
	return !field->text_only && field->type != FIELD_OBJECT && field->type != FIELD_ROWS &&
	       field->type != FIELD_MAP;
}

static void put_quoted(const char *text, FILE *out)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void put_text(const char *text, FILE *out)
{
	char *valid = text_utf8(text);

	if (strpbrk(valid, ",\"\r\n"))
		put_quoted(valid, out);
	else
		fputs(valid, out);
	free(valid);
}

/* Stacks and command lines: one column. */
static void put_texts(const struct texts *texts, FILE *out)
{
	char *joined = NULL;
	size_t size;
	FILE *stream = open_memstream(&joined, &size);

	for (size_t i = 0; stream && i < texts->nr; i++)
		fprintf(stream, "%s%s", i ? ";" : "", texts->at[i]);
	if (stream)
		fclose(stream);
	put_text(joined ? joined : "", out);
	free(joined);
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
		put_text(value.text, out);
		break;
	case VALUE_TEXTS:
		put_texts(value.texts, out);
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
			put_text(field->key, out);
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
