/* SPDX-License-Identifier: MIT */
#include "report/view/field.h"

#include <string.h>

const struct field *fields_find(const struct fields *fields, const char *key)
{
	for (size_t i = 0; i < fields->nr; i++)
		if (!strcmp(fields->at[i].key, key))
			return &fields->at[i];
	return NULL;
}

static struct value absent(void)
{
	return (struct value){ .kind = VALUE_ABSENT };
}

static struct value integer(int64_t number)
{
	return (struct value){ .kind = VALUE_INTEGER, .integer = number };
}

static struct value real(double number)
{
	return (struct value){ .kind = VALUE_REAL, .real = number };
}

static struct value text(const char *words)
{
	return words ? (struct value){ .kind = VALUE_TEXT, .text = words } : absent();
}

/* Damaged profiles have figures that no integer holds. */
static int64_t whole(double number)
{
	if (number >= 0x1p63)
		return INT64_MAX;
	return number > -0x1p63 ? (int64_t)number : INT64_MIN;
}

static struct value counted(uint64_t number)
{
	return integer(number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

static struct value figure(const struct figure *figure, enum field_unit unit)
{
	if (figure->absent)
		return absent();
	if (unit == UNIT_PLAIN || unit == UNIT_COUNT || unit == UNIT_BYTES)
		return integer(whole(figure->value));
	return real(figure->value);
}

static bool is_known(const struct fields *fields, const struct field *field, const void *row)
{
	const bool *known = (const void *)((const char *)row + fields->known);
	const bool *detailed = (const void *)((const char *)row + fields->detailed);

	if (field->detail && fields->may_lack_details && !*detailed)
		return false;
	return !fields->may_be_unknown || field->always || *known;
}

static struct value list(const struct rows *rows)
{
	return rows->absent ? absent() : (struct value){ .kind = VALUE_ROWS, .rows = rows };
}

struct value field_value(const struct fields *fields, const struct field *field, const void *row)
{
	const void *at = (const char *)row + field->offset;

	if (!is_known(fields, field, row))
		return absent();

	switch (field->type) {
	case FIELD_TEXT:
		return text(*(const char *const *)at);
	case FIELD_TEXTS:
		return (struct value){ .kind = VALUE_TEXTS, .texts = at };
	case FIELD_BOOL:
		return (struct value){ .kind = VALUE_BOOL, .yes = *(const bool *)at };
	case FIELD_INT:
		return integer(*(const int *)at);
	case FIELD_LINE:
		return *(const uint32_t *)at ? integer(*(const uint32_t *)at) : absent();
	case FIELD_U64:
		return counted(*(const uint64_t *)at);
	case FIELD_DOUBLE:
		return real(*(const double *)at);
	case FIELD_FIGURE:
		return figure(at, field->unit);
	case FIELD_OBJECT:
		return (struct value){ .kind = VALUE_OBJECT, .object = at };
	case FIELD_ROWS:
	case FIELD_MAP:
		return list(at);
	}
	return absent();
}
