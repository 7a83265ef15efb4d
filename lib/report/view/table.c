/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/command.h"
#include "base/text.h"
#include "base/units.h"
#include "report/view/names.h"
#include "report/view/page.h"

#define MOST_COLUMNS 16
#define GAP 2
#define NARROWEST_NAME 16

/* A column as it is shown. */
struct shown {
	const struct column *column;
	const struct field *field;
	const char *title;
	char **cells; /* NULL for texts that are fitted when they are printed */
	size_t width;
};

struct table {
	struct page *page;
	const struct rows *rows;
	const struct fields *fields;
	size_t nr_rows;
	struct shown columns[MOST_COLUMNS];
	size_t nr_columns;
};

static char *number_cell(const struct field *field, struct value value)
{
	double real = value.kind == VALUE_INTEGER ? (double)value.integer : value.real;

	switch (field->unit) {
	case UNIT_COUNT:
		return xstrdup(units_count((uint64_t)value.integer).text);
	case UNIT_BYTES:
		return xstrdup(units_size((uint64_t)value.integer).text);
	case UNIT_SECONDS:
		return xstrdup(units_seconds(real).text);
	case UNIT_SHARE:
		return xstrdup(units_percent(real).text);
	case UNIT_ERROR:
		return xasprintf("%.1f", real * 100);
	case UNIT_RATIO:
		return xstrdup(units_ratio(real).text);
	default:
		return xasprintf("%.0f", real);
	}
}

static char *cell(const struct field *field, struct value value)
{
	switch (value.kind) {
	case VALUE_INTEGER:
	case VALUE_REAL:
		return number_cell(field, value);
	case VALUE_BOOL:
		return xstrdup(value.yes ? "yes" : "no");
	case VALUE_TEXT:
		return text_clean(value.text);
	default:
		return xstrdup("-");
	}
}

static struct value value_at(const struct table *table, const struct shown *shown, size_t row)
{
	return field_value(table->fields, shown->field, table->rows->at[row]);
}

/* --- which columns, how wide --- */

static bool is_empty(const struct table *table, const struct shown *shown)
{
	for (size_t i = 0; i < table->nr_rows; i++)
		if (value_at(table, shown, i).kind != VALUE_ABSENT)
			return false;
	return true;
}

static bool is_flexible(const struct shown *shown)
{
	return shown->column->kind != COLUMN_NUMBER && shown->column->kind != COLUMN_WORD;
}

static void fill_cells(struct table *table, struct shown *shown)
{
	shown->width = text_width(shown->title);
	if (is_flexible(shown))
		return;
	shown->cells = xcalloc(table->nr_rows, sizeof(shown->cells[0]));
	for (size_t i = 0; i < table->nr_rows; i++) {
		size_t width;

		shown->cells[i] = cell(shown->field, value_at(table, shown, i));
		width = text_width(shown->cells[i]);
		if (width > shown->width)
			shown->width = width;
	}
}

static void choose_columns(struct table *table, const struct column *columns)
{
	for (; columns->key && table->nr_columns < MOST_COLUMNS; columns++) {
		struct shown shown = { .column = columns };

		shown.field = fields_find(table->fields, columns->key);
		if (!shown.field || is_empty(table, &shown))
			continue;
		shown.title = shown.field->title ?: shown.field->key;
		fill_cells(table, &shown);
		table->columns[table->nr_columns++] = shown;
	}
}

static size_t used_width(const struct table *table, bool flexible)
{
	size_t used = 0;

	for (size_t i = 0; i < table->nr_columns; i++) {
		used += i ? GAP : 0;
		if (flexible || !is_flexible(&table->columns[i]))
			used += table->columns[i].width;
	}
	return used;
}

/* Numbers from the right are left out until names have room: a narrow terminal. */
static void drop_columns(struct table *table)
{
	while (table->nr_columns > 2 &&
	       used_width(table, false) + NARROWEST_NAME > table->page->style.width) {
		size_t last = table->nr_columns - 1;

		while (last > 0 && table->columns[last].column->kind != COLUMN_NUMBER)
			last--;
		if (!last)
			return;
		for (size_t i = 0; i < table->nr_rows; i++)
			free(table->columns[last].cells[i]);
		free(table->columns[last].cells);
		memmove(&table->columns[last], &table->columns[last + 1],
			(table->nr_columns - last - 1) * sizeof(table->columns[0]));
		table->nr_columns--;
	}
}

static void share_width(struct table *table)
{
	size_t width = table->page->style.width, used;

	for (size_t i = 0; i < table->nr_columns; i++) {
		struct shown *shown = &table->columns[i];

		if (shown->column->kind == COLUMN_WORD && shown->width > width / 4)
			shown->width = width / 4;
	}
	drop_columns(table);
	used = used_width(table, false);
	for (size_t i = 0; i < table->nr_columns; i++)
		if (is_flexible(&table->columns[i]))
			table->columns[i].width = used < width ? width - used : 0;
}

/* --- printing --- */

static char *fitting_cell(const struct table *table, const struct shown *shown, size_t row)
{
	struct value value = value_at(table, shown, row);

	if (shown->cells)
		return text_clip(shown->cells[row], shown->width);
	if (value.kind == VALUE_TEXT)
		return name_fit(value.text, shown->width);
	if (value.kind != VALUE_TEXTS)
		return text_clip("-", shown->width);
	if (shown->column->kind == COLUMN_STACK)
		return stack_fit(value.texts, shown->width);
	return command_fit(value.texts->at, value.texts->nr, shown->width);
}

static enum tint tint_of(const struct table *table, const struct shown *shown, size_t row)
{
	struct value value = value_at(table, shown, row);

	if (shown->column->kind == COLUMN_WORD)
		return TINT_DIM;
	if (!shown->column->heat || value.kind != VALUE_REAL)
		return TINT_NONE;
	return value.real >= 0.1 ? TINT_HOT : value.real >= 0.03 ? TINT_WARM : TINT_NONE;
}

static void print_spaces(FILE *out, size_t nr)
{
	fprintf(out, "%*s", (int)nr, "");
}

static void print_cell(const struct table *table, size_t i, const char *text, enum tint tint)
{
	const struct shown *shown = &table->columns[i];
	size_t width = text_width(text), room = shown->width > width ? shown->width - width : 0;
	bool last = i + 1 == table->nr_columns, right = shown->column->kind == COLUMN_NUMBER;

	print_spaces(table->page->out, (i ? GAP : 0) + (right ? room : 0));
	page_tinted(table->page, tint, text);
	if (!right && !last)
		print_spaces(table->page->out, room);
}

static void print_titles(const struct table *table)
{
	for (size_t i = 0; i < table->nr_columns; i++)
		print_cell(table, i, table->columns[i].title, TINT_DIM);
	putc('\n', table->page->out);
}

static void print_row(const struct table *table, size_t row)
{
	for (size_t i = 0; i < table->nr_columns; i++) {
		char *text = fitting_cell(table, &table->columns[i], row);

		print_cell(table, i, text, tint_of(table, &table->columns[i], row));
		free(text);
	}
	putc('\n', table->page->out);
}

static void release(struct table *table)
{
	for (size_t i = 0; i < table->nr_columns; i++) {
		char **cells = table->columns[i].cells;

		for (size_t j = 0; cells && j < table->nr_rows; j++)
			free(cells[j]);
		free(cells);
	}
}

void page_table(struct page *page, const struct rows *rows, const struct fields *fields,
		const struct column *columns, size_t nr)
{
	struct table table = {
		.page = page,
		.rows = rows,
		.fields = fields,
		.nr_rows = nr < rows->nr ? nr : rows->nr,
	};

	if (!table.nr_rows)
		return;
	choose_columns(&table, columns);
	share_width(&table);
	print_titles(&table);
	for (size_t i = 0; i < table.nr_rows; i++)
		print_row(&table, i);
	release(&table);
	page_begin(page);
}
