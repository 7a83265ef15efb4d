/* SPDX-License-Identifier: MIT */
#include "report/view/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/suggest.h"

/* --- filter --- */

static bool matches(const regex_t *wanted, const char *text)
{
	return !wanted || (text && !regexec(wanted, text, 0, NULL, 0));
}

static const char *text_of(const struct fields *fields, const char *key, const void *row)
{
	const struct field *field = fields_find(fields, key);
	struct value value;

	if (!field)
		return NULL;
	value = field_value(fields, field, row);
	return value.kind == VALUE_TEXT ? value.text : NULL;
}

static bool row_matches(const struct shape *shape, const struct fields *fields, const void *row)
{
	return matches(shape->function, text_of(fields, "name", row)) &&
	       matches(shape->module, text_of(fields, "module", row));
}

static bool is_wanted(const struct shape *shape, const struct fields *fields, const void *row)
{
	const struct field *frames = fields_find(fields, "frames");
	struct value value;

	if (!frames)
		return row_matches(shape, fields, row);

	value = field_value(fields, frames, row);
	for (size_t i = 0; i < value.rows->nr; i++)
		if (row_matches(shape, frames->of, value.rows->at[i]))
			return true;
	return false;
}

static void filter(const struct shape *shape, const struct fields *fields, struct rows *rows)
{
	size_t kept = 0;

	if (!shape->function && !shape->module)
		return;
	for (size_t i = 0; i < rows->nr; i++)
		if (is_wanted(shape, fields, rows->at[i]))
			rows->at[kept++] = rows->at[i];
	rows->nr = kept;
}

/* --- sort --- */

struct sortable {
	const void *row;
	struct value value;
	size_t place;
};

static bool is_number(struct value value)
{
	return value.kind == VALUE_INTEGER || value.kind == VALUE_REAL;
}

static double number(struct value value)
{
	return value.kind == VALUE_INTEGER ? (double)value.integer : value.real;
}

/* Numbers from large to small, texts by the alphabet, what is absent last. */
static int compare_values(struct value a, struct value b)
{
	if (is_number(a) && is_number(b))
		return number(a) < number(b) ? 1 : number(a) > number(b) ? -1 : 0;
	if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT)
		return strcmp(a.text, b.text);
	return (a.kind == VALUE_ABSENT) - (b.kind == VALUE_ABSENT);
}

static int compare(const void *a, const void *b)
{
	const struct sortable *s = a, *t = b;
	int order = compare_values(s->value, t->value);

	return order ?: s->place < t->place ? -1 : 1;
}

static void sort(struct rows *rows, const struct fields *fields, const struct field *field)
{
	struct sortable *all = xcalloc(rows->nr + 1, sizeof(all[0]));

	for (size_t i = 0; i < rows->nr; i++)
		all[i] = (struct sortable){ rows->at[i], field_value(fields, field, rows->at[i]),
					    i };
	qsort(all, rows->nr, sizeof(all[0]), compare);
	for (size_t i = 0; i < rows->nr; i++)
		rows->at[i] = all[i].row;
	free(all);
}

/* --- shorten --- */

static bool is_known(const struct rows *rows, const struct fields *fields,
		     const struct field *field)
{
	for (size_t i = 0; i < rows->nr; i++)
		if (is_number(field_value(fields, field, rows->at[i])))
			return true;
	return false;
}

/*
 * What rows are measured by: shares as they are, sizes and counts by their sum.  Where nothing was
 * sampled, allocations.
 */
static const struct field *measure(const struct view_table *table, const struct rows *rows,
				   const struct field *sorted_by)
{
	const struct field *field =
		table->measure ? fields_find(table->fields, table->measure) : NULL;

	if (sorted_by && (sorted_by->unit == UNIT_SHARE || sorted_by->unit == UNIT_BYTES ||
			  sorted_by->unit == UNIT_COUNT))
		return sorted_by;
	if (field && !is_known(rows, table->fields, field))
		return fields_find(table->fields, "allocations");
	return field;
}

static double sum(const struct rows *rows, const struct fields *fields, const struct field *field)
{
	double all = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		struct value value = field_value(fields, field, rows->at[i]);

		all += is_number(value) ? number(value) : 0;
	}
	return all;
}

static void drop_small(struct rows *rows, const struct fields *fields, const struct field *field,
		       double whole, double min_share)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		struct value value = field_value(fields, field, rows->at[i]);

		if (is_number(value) && number(value) >= min_share * whole)
			rows->at[kept++] = rows->at[i];
	}
	rows->too_small += rows->nr - kept;
	rows->nr = kept;
}

static void shorten(struct rows *rows, size_t limit)
{
	if (!limit || rows->nr <= limit)
		return;
	rows->left_out += rows->nr - limit;
	rows->nr = limit;
}

/* --- the whole --- */

/* By its key, or by what stands above it in text. */
static const struct field *column_named(const struct fields *fields, const char *name)
{
	const struct field *field = fields_find(fields, name);

	for (size_t i = 0; !field && i < fields->nr; i++)
		if (fields->at[i].title && !strcmp(fields->at[i].title, name))
			field = &fields->at[i];
	return field;
}

static const struct field *sort_field(const struct shape *shape, const struct fields *fields)
{
	const struct field *field = shape->sort ? column_named(fields, shape->sort) : NULL;

	if (!field || field->type == FIELD_TEXTS || field->type == FIELD_ROWS)
		return NULL;
	return field;
}

static void shape_table(const struct shape *shape, const struct view_table *table,
			struct rows *rows)
{
	const struct fields *fields = table->fields;
	const struct field *by = sort_field(shape, fields), *measured = measure(table, rows, by);
	double whole = measured && measured->unit != UNIT_SHARE ? sum(rows, fields, measured) : 1;

	filter(shape, fields, rows);
	if (by)
		sort(rows, fields, by);
	if (shape->min_share > 0 && measured)
		drop_small(rows, fields, measured, whole, shape->min_share);
	shorten(rows, shape->limit);
}

/* The whole object has the sites of each process, too. */
static void shape_processes(const struct shape *shape, struct analysis *analysis)
{
	static const struct view_table table = { .fields = &site_fields,
						 .measure = "at_peak_bytes" };

	for (size_t i = 0; i < analysis->processes.nr; i++)
		shape_table(shape, &table, &analysis->process_storage[i].heap.sites);
}

static int complain(const struct shape *shape, const struct view *view, struct error *err)
{
	const char *keys[64], *meant;
	struct strbuf list = { 0 };
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(view->tables) && view->tables[i].fields; i++)
		for (size_t j = 0; j < view->tables[i].fields->nr && nr < ARRAY_SIZE(keys) - 1;
		     j++) {
			const struct field *field = &view->tables[i].fields->at[j];

			if (field->text_only || field->type == FIELD_TEXTS ||
			    field->type == FIELD_ROWS)
				continue;
			keys[nr++] = field->key;
			strbuf_add_item(&list, " ", field->key);
		}
	keys[nr] = NULL;
	meant = suggest(shape->sort, keys);

	error_set(err, ERR_USAGE, "--sort: '%s' has no column '%s'", view->name, shape->sort);
	if (meant)
		error_hint(err, "did you mean '%s'?", meant);
	else if (nr)
		error_hint(err, "it has: %s", list.at);
	free(list.at);
	return ERR_USAGE;
}

int shape_apply(const struct shape *shape, const struct view *view, struct analysis *analysis,
		struct error *err)
{
	bool sortable = !shape->sort;

	for (size_t i = 0; i < ARRAY_SIZE(view->tables) && view->tables[i].fields; i++)
		if (sort_field(shape, view->tables[i].fields))
			sortable = true;
	if (!sortable)
		return complain(shape, view, err);

	for (size_t i = 0; i < ARRAY_SIZE(view->tables) && view->tables[i].fields; i++)
		shape_table(shape, &view->tables[i],
			    (struct rows *)((char *)analysis + view->tables[i].rows));
	if (view->json == &analysis_fields)
		shape_processes(shape, analysis);
	return 0;
}
