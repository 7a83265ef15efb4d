/* SPDX-License-Identifier: MIT */
/*
 * Written as it goes: a profile of an interpreter has ten thousand sites of a hundred frames each,
 * which as a tree of JSON values would take gigabytes.  jansson says how a value is spelled.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/text.h"
#include "report/view/view.h"

struct writer {
	FILE *out;
	struct map spelled; /* of texts and places, which recur in most stacks: by pointer */
};

static void put_object(struct writer *writer, const struct fields *fields, const void *row);

static void put_scalar(struct writer *writer, json_t *value)
{
	json_dumpf(value, writer->out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
	json_decref(value);
}

static char *spell_text(const char *text)
{
	char *valid = text_utf8(text), *spelled;
	json_t *value = json_string(valid);

	spelled = json_dumps(value, JSON_ENCODE_ANY);
	json_decref(value);
	free(valid);
	return spelled;
}

static void put_text(struct writer *writer, const char *text)
{
	bool added;
	uint64_t *spelled = map_add(&writer->spelled, (uintptr_t)text, &added);

	if (added)
		*spelled = (uintptr_t)spell_text(text);
	fputs((const char *)(uintptr_t)*spelled, writer->out);
}

static void put_texts(struct writer *writer, const struct texts *texts)
{
	putc('[', writer->out);
	for (size_t i = 0; i < texts->nr; i++) {
		fputs(i ? "," : "", writer->out);
		put_text(writer, texts->at[i]);
	}
	putc(']', writer->out);
}

static char *spell_place(struct writer *writer, const void *place)
{
	FILE *out = writer->out;
	char *spelled = NULL;
	size_t size;

	writer->out = open_memstream(&spelled, &size);
	put_object(writer, &place_fields, place);
	fclose(writer->out);
	writer->out = out;
	return spelled;
}

static void put_place(struct writer *writer, const void *place)
{
	uint64_t *found = map_find(&writer->spelled, (uintptr_t)place);
	char *spelled = found ? (char *)(uintptr_t)*found : spell_place(writer, place);

	if (!found)
		map_set(&writer->spelled, (uintptr_t)place, (uintptr_t)spelled);
	fputs(spelled, writer->out);
}

static void put_rows(struct writer *writer, const struct fields *fields, const struct rows *rows)
{
	putc('[', writer->out);
	for (size_t i = 0; i < rows->nr; i++) {
		fputs(i ? "," : "", writer->out);
		if (fields == &place_fields)
			put_place(writer, rows->at[i]);
		else
			put_object(writer, fields, rows->at[i]);
	}
	putc(']', writer->out);
}

static void put_map(struct writer *writer, const struct fields *fields, const struct rows *rows)
{
	putc('{', writer->out);
	for (size_t i = 0; i < rows->nr; i++) {
		struct value key = field_value(fields, &fields->at[0], rows->at[i]);

		fputs(i ? "," : "", writer->out);
		put_text(writer, key.kind == VALUE_TEXT ? key.text : "");
		putc(':', writer->out);
		put_object(writer, fields, rows->at[i]);
	}
	putc('}', writer->out);
}

static void put_value(struct writer *writer, const struct field *field, struct value value)
{
	switch (value.kind) {
	case VALUE_ABSENT:
		put_scalar(writer, json_null());
		break;
	case VALUE_BOOL:
		put_scalar(writer, json_boolean(value.yes));
		break;
	case VALUE_INTEGER:
		put_scalar(writer, json_integer(value.integer));
		break;
	case VALUE_REAL: /* JSON has no infinity and no NaN */
		put_scalar(writer, isfinite(value.real) ? json_real(value.real) : json_null());
		break;
	case VALUE_TEXT:
		put_text(writer, value.text);
		break;
	case VALUE_TEXTS:
		put_texts(writer, value.texts);
		break;
	case VALUE_OBJECT:
		put_object(writer, field->of, value.object);
		break;
	case VALUE_ROWS:
		if (field->type == FIELD_MAP)
			put_map(writer, field->of, value.rows);
		else
			put_rows(writer, field->of, value.rows);
		break;
	}
}

static void put_object(struct writer *writer, const struct fields *fields, const void *row)
{
	bool first = true;

	putc('{', writer->out);
	for (size_t i = 0; i < fields->nr; i++) {
		const struct field *field = &fields->at[i];
		struct value value = field_value(fields, field, row);

		if (field->text_only || (field->sparse && value.kind == VALUE_ABSENT))
			continue;
		fputs(first ? "" : ",", writer->out);
		first = false;
		put_text(writer, field->key);
		putc(':', writer->out);
		put_value(writer, field, value);
	}
	putc('}', writer->out);
}

static void render(const struct view *view, const struct analysis *analysis,
		   const struct style *style, FILE *out)
{
	struct writer writer = { .out = out };

	(void)style;
	put_object(&writer, view->json, analysis);
	putc('\n', out);
	map_each(&writer.spelled, entry) free((void *)(uintptr_t)entry->value);
	map_release(&writer.spelled);
}

const struct renderer json_renderer = { .render = render };
