/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/text.h"
#include "report/view/view.h"

/* Texts and places recur in thousands of stacks: each is made once, by its pointer. */
struct json_maker {
	struct map made;
};

static json_t *make_object(struct json_maker *maker, const struct fields *fields, const void *row);

static json_t *remember(struct json_maker *maker, const void *key, json_t *made)
{
	map_set(&maker->made, (uintptr_t)key, (uintptr_t)made);
	return json_incref(made);
}

static json_t *recall(struct json_maker *maker, const void *key)
{
	uint64_t *made = map_find(&maker->made, (uintptr_t)key);

	return made ? json_incref((json_t *)(uintptr_t)*made) : NULL;
}

static json_t *make_text(struct json_maker *maker, const char *text)
{
	json_t *made = recall(maker, text);
	char *valid;

	if (made)
		return made;
	valid = text_utf8(text);
	made = json_string(valid);
	free(valid);
	return remember(maker, text, made);
}

static json_t *make_texts(struct json_maker *maker, const struct texts *texts)
{
	json_t *array = json_array();

	for (size_t i = 0; i < texts->nr; i++)
		json_array_append_new(array, make_text(maker, texts->at[i]));
	return array;
}

static json_t *make_row(struct json_maker *maker, const struct fields *fields, const void *row)
{
	json_t *made;

	if (fields != &place_fields)
		return make_object(maker, fields, row);
	made = recall(maker, row);
	return made ?: remember(maker, row, make_object(maker, fields, row));
}

static json_t *make_rows(struct json_maker *maker, const struct field *field,
			 const struct rows *rows)
{
	json_t *array = json_array();

	for (size_t i = 0; i < rows->nr; i++)
		json_array_append_new(array, make_row(maker, field->of, rows->at[i]));
	return array;
}

static json_t *make_map(struct json_maker *maker, const struct field *field,
			const struct rows *rows)
{
	json_t *object = json_object();

	for (size_t i = 0; i < rows->nr; i++) {
		struct value key = field_value(field->of, &field->of->at[0], rows->at[i]);
		char *name = text_utf8(key.kind == VALUE_TEXT ? key.text : "");

		json_object_set_new(object, name, make_object(maker, field->of, rows->at[i]));
		free(name);
	}
	return object;
}

/* JSON has no infinity and no NaN. */
static json_t *make_real(double number)
{
	return isfinite(number) ? json_real(number) : json_null();
}

static json_t *make_value(struct json_maker *maker, const struct field *field, struct value value)
{
	switch (value.kind) {
	case VALUE_ABSENT:
		return json_null();
	case VALUE_BOOL:
		return json_boolean(value.yes);
	case VALUE_INTEGER:
		return json_integer(value.integer);
	case VALUE_REAL:
		return make_real(value.real);
	case VALUE_TEXT:
		return make_text(maker, value.text);
	case VALUE_TEXTS:
		return make_texts(maker, value.texts);
	case VALUE_OBJECT:
		return make_object(maker, field->of, value.object);
	case VALUE_ROWS:
		return field->type == FIELD_MAP ? make_map(maker, field, value.rows)
						: make_rows(maker, field, value.rows);
	}
	return json_null();
}

static json_t *make_object(struct json_maker *maker, const struct fields *fields, const void *row)
{
	json_t *object = json_object();

	for (size_t i = 0; i < fields->nr; i++) {
		const struct field *field = &fields->at[i];

		if (!field->text_only)
			json_object_set_new_nocheck(
				object, field->key,
				make_value(maker, field, field_value(fields, field, row)));
	}
	return object;
}

static void release_maker(struct json_maker *maker)
{
	map_each(&maker->made, entry) json_decref((json_t *)(uintptr_t)entry->value);
	map_release(&maker->made);
}

static int write_buffer(const char *buffer, size_t size, void *file)
{
	return fwrite(buffer, 1, size, file) == size ? 0 : -1;
}

static void render(const struct view *view, const struct analysis *analysis,
		   const struct style *style, FILE *out)
{
	struct json_maker maker = { 0 };
	json_t *object = make_object(&maker, view->json, analysis);

	(void)style;
	if (!json_dump_callback(object, write_buffer, out, JSON_REAL_PRECISION(12)))
		putc('\n', out);
	json_decref(object);
	release_maker(&maker);
}

const struct renderer json_renderer = { .render = render };
