/* SPDX-License-Identifier: MIT */
#include "store/columns.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "store/histogram_text.h"
#include "store/implied.h"
#include "store/profile.h"

int text_bind(sqlite3_stmt *statement, int index, const char *text)
{
	if (!text)
		return sqlite3_bind_null(statement, index);
	if (!utf8_is_valid(text))
		return sqlite3_bind_blob(statement, index, text, strlen(text), SQLITE_STATIC);
	return sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

const char *text_read(sqlite3_stmt *statement, int index, struct arena *arena)
{
	int type = sqlite3_column_type(statement, index);

	if (type != SQLITE_TEXT && type != SQLITE_BLOB)
		return NULL;

	/* In this order: the blob of a text is its bytes. */
	const void *bytes = sqlite3_column_blob(statement, index);

	return arena_strndup(arena, bytes ? bytes : "", sqlite3_column_bytes(statement, index));
}

/* NULL instead of one value. */
static int bind_unless(sqlite3_stmt *statement, int index, int64_t value, int64_t absent)
{
	return value == absent ? sqlite3_bind_null(statement, index)
			       : sqlite3_bind_int64(statement, index, value);
}

static int bind_file(sqlite3_stmt *statement, int index, const char *path, struct intern *files)
{
	return path ? sqlite3_bind_int64(statement, index, intern_add(files, path))
		    : sqlite3_bind_null(statement, index);
}

static int bind_histogram(sqlite3_stmt *statement, int index,
			  const struct profile_histogram *histogram)
{
	if (histogram->nr == HISTOGRAM_IMPLIED)
		return sqlite3_bind_null(statement, index);
	return sqlite3_bind_text(statement, index, histogram_text(histogram), -1, free);
}

int column_bind(sqlite3_stmt *statement, int index, const struct column *column, const void *row,
		struct intern *files)
{
	const char *field = (const char *)row + column->offset;

#define AS(type_) (*(const type_ *)field)
	switch (column->type) {
	case COLUMN_U32:
	case COLUMN_KIND:
	case COLUMN_ID:
		return sqlite3_bind_int64(statement, index, AS(uint32_t));
	case COLUMN_U32_OR_NULL:
		return bind_unless(statement, index, AS(uint32_t), 0);
	case COLUMN_I32:
		return sqlite3_bind_int64(statement, index, AS(int32_t));
	case COLUMN_EXIT_STATUS:
		return bind_unless(statement, index, AS(int), -1);
	case COLUMN_SIGNAL:
		return bind_unless(statement, index, AS(int), 0);
	case COLUMN_I64:
	case COLUMN_U64:
		return sqlite3_bind_int64(statement, index, AS(int64_t));
	case COLUMN_U64_OR_NULL:
		return bind_unless(statement, index, AS(int64_t), (int64_t)PROFILE_UNKNOWN);
	case COLUMN_TIME:
		return bind_unless(statement, index, AS(int64_t), PROFILE_NO_TIME);
	case COLUMN_DOUBLE:
		return sqlite3_bind_double(statement, index, isfinite(AS(double)) ? AS(double) : 0);
	case COLUMN_BOOL:
		return sqlite3_bind_int64(statement, index, AS(bool));
	case COLUMN_TEXT:
		return text_bind(statement, index, AS(char *) ? AS(char *) : "");
	case COLUMN_TEXT_OR_NULL:
		return text_bind(statement, index, AS(char *));
	case COLUMN_FILE:
		return bind_file(statement, index, AS(char *), files);
	case COLUMN_WORD:
		return text_bind(statement, index, column->words.word(AS(unsigned int)));
	case COLUMN_HISTOGRAM:
		return bind_histogram(statement, index, (const void *)field);
	case COLUMN_REF:
	case COLUMN_REF_OR_NULL:
		return bind_unless(statement, index, AS(uint32_t), PROFILE_NONE);
	case COLUMN_REF_OR_ALL:
		return sqlite3_bind_int64(statement, index, (int32_t)AS(uint32_t));
	}
#undef AS
	return SQLITE_MISUSE;
}

/* The difference of two does not overflow. */
static bool is_time(int64_t value)
{
	return value > -(INT64_MAX / 4) && value < INT64_MAX / 4;
}

static const char *set_integer(const struct column *column, char *field, int64_t value)
{
	switch (column->type) {
	case COLUMN_U64:
	case COLUMN_U64_OR_NULL:
		*(int64_t *)field = value;
		return NULL;
	case COLUMN_I64:
	case COLUMN_TIME:
		*(int64_t *)field = value;
		return is_time(value) ? NULL : "is out of range";
	case COLUMN_I32:
	case COLUMN_EXIT_STATUS:
	case COLUMN_SIGNAL:
		*(int32_t *)field = value;
		return value == (int32_t)value ? NULL : "is out of range";
	case COLUMN_BOOL:
		*(bool *)field = value != 0;
		return value == 0 || value == 1 ? NULL : "is neither 0 nor 1";
	case COLUMN_KIND:
		*(uint32_t *)field = value;
		return value >= 0 && value < column->words.nr ? NULL : "is not known";
	case COLUMN_REF_OR_ALL:
		*(uint32_t *)field = value == -1 ? PROFILE_NONE : value;
		return value >= -1 && value < PROFILE_NONE ? NULL : "is out of range";
	case COLUMN_ID:
	case COLUMN_REF:
	case COLUMN_REF_OR_NULL:
		*(uint32_t *)field = value;
		return value >= 0 && value < PROFILE_NONE ? NULL : "is out of range";
	default:
		*(uint32_t *)field = value;
		return value >= 0 && value <= UINT32_MAX ? NULL : "is out of range";
	}
}

static const char *set_absent(const struct column *column, char *field)
{
	switch (column->type) {
	case COLUMN_TIME:
		*(int64_t *)field = PROFILE_NO_TIME;
		return NULL;
	case COLUMN_U64_OR_NULL:
		*(uint64_t *)field = PROFILE_UNKNOWN;
		return NULL;
	case COLUMN_EXIT_STATUS:
		*(int *)field = -1;
		return NULL;
	case COLUMN_REF_OR_NULL:
		*(uint32_t *)field = PROFILE_NONE;
		return NULL;
	case COLUMN_SIGNAL:
	case COLUMN_U32_OR_NULL:
		*(uint32_t *)field = 0;
		return NULL;
	case COLUMN_TEXT_OR_NULL:
	case COLUMN_FILE:
		*(const char **)field = NULL;
		return NULL;
	case COLUMN_HISTOGRAM:
		*(struct profile_histogram *)field =
			(struct profile_histogram){ NULL, HISTOGRAM_IMPLIED };
		return NULL;
	default:
		return "is NULL";
	}
}

static const char *set_word(const struct column *column, char *field, const char *text)
{
	for (unsigned int i = 0; text && i < column->words.nr; i++) {
		if (!strcmp(column->words.word(i), text)) {
			*(unsigned int *)field = i;
			return NULL;
		}
	}
	return "is not a known word";
}

static const char *set_double(char *field, double value)
{
	*(double *)field = value;
	return isfinite(value) ? NULL : "is not finite";
}

static const char *set_text(char *field, const char *text)
{
	*(const char **)field = text;
	return text ? NULL : "is not text";
}

static const char *set_histogram(char *field, const char *text, struct arena *arena)
{
	return text ? histogram_read((struct profile_histogram *)field, text, arena)
		    : "is not text";
}

static const char *set_file(char *field, int64_t id, const struct texts *texts)
{
	if (id < 0 || (uint64_t)id >= texts->nr_files)
		return "refers to nothing";
	*(const char **)field = texts->files[id].path;
	return NULL;
}

const char *column_read(sqlite3_stmt *statement, int index, const struct column *column, void *row,
			const struct texts *texts)
{
	int type = sqlite3_column_type(statement, index);
	char *field = (char *)row + column->offset;

	if (type == SQLITE_NULL)
		return set_absent(column, field);

	switch (column->type) {
	case COLUMN_TEXT:
	case COLUMN_TEXT_OR_NULL:
		return set_text(field, text_read(statement, index, texts->arena));
	case COLUMN_HISTOGRAM:
		return set_histogram(field, (const char *)sqlite3_column_text(statement, index),
				     texts->arena);
	case COLUMN_WORD:
		return set_word(column, field, (const char *)sqlite3_column_text(statement, index));
	case COLUMN_DOUBLE:
		if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
			return "is not a number";
		return set_double(field, sqlite3_column_double(statement, index));
	default:
		if (type != SQLITE_INTEGER)
			return "is not an integer";
		if (column->type == COLUMN_FILE)
			return set_file(field, sqlite3_column_int64(statement, index), texts);
		return set_integer(column, field, sqlite3_column_int64(statement, index));
	}
}
