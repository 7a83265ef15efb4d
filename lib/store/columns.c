/* SPDX-License-Identifier: MIT */
#include "store/columns.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "store/profile.h"

static const char *status_word(unsigned int value)
{
	return profile_status_name(value);
}

static const char *allocator_word(unsigned int value)
{
	return profile_allocator_name(value);
}

static const char *quality_word(unsigned int value)
{
	return profile_quality_name(value);
}

static const char *module_kind_word(unsigned int value)
{
	return profile_module_kind_name(value);
}

static const char *debug_word(unsigned int value)
{
	return profile_debug_name(value);
}

#define COLUMNS(type_, ...)                                                           \
	.row_size = sizeof(type_), .columns = (const struct column[]){ __VA_ARGS__ }, \
	.nr_columns = ARRAY_SIZE(((const struct column[]){ __VA_ARGS__ }))

#define FIELD(name_, type_)                                                            \
	{                                                                              \
		.name = #name_, .type = COLUMN_##type_, .offset = offsetof(ROW, name_) \
	}
#define FIELD_AS(column_, name_, type_)                                                 \
	{                                                                               \
		.name = column_, .type = COLUMN_##type_, .offset = offsetof(ROW, name_) \
	}
#define REF(name_, type_, refers_)                                                      \
	{                                                                               \
		.name = #name_, .type = COLUMN_##type_, .offset = offsetof(ROW, name_), \
		.refers = &(refers_)                                                    \
	}
#define WORD(name_, word_, nr_)                                                                 \
	{                                                                                       \
		.name = #name_, .type = COLUMN_WORD, .offset = offsetof(ROW, name_), .words = { \
			word_,                                                                  \
			nr_                                                                     \
		}                                                                               \
	}

#define ROW struct profile_run
const struct table table_meta = {
	"meta",
	COLUMNS(ROW, FIELD(cprof_version, TEXT_OR_NULL), FIELD(host, TEXT_OR_NULL),
		FIELD(kernel, TEXT_OR_NULL), FIELD(cpu_model, TEXT_OR_NULL), FIELD(nr_cpus, U32),
		FIELD(start_realtime_us, I64), FIELD(start_monotonic_ns, I64), FIELD(wall_us, I64),
		FIELD(options, TEXT_OR_NULL), FIELD(exit_status, EXIT_STATUS),
		FIELD(signal, SIGNAL), FIELD(complete, BOOL), FIELD(cpu_on, BOOL),
		FIELD(cpu_reason, TEXT_OR_NULL), FIELD(user_only, BOOL),
		FIELD(heap_mode, TEXT_OR_NULL), FIELD(heap_tracked, BOOL),
		FIELD(heap_reason, TEXT_OR_NULL)),
};
#undef ROW

#define ROW struct profile_event
const struct table table_event = {
	"event",
	COLUMNS(ROW, FIELD(id, ID), FIELD(name, TEXT), FIELD(unit, TEXT),
		FIELD(substituted_for, TEXT_OR_NULL), FIELD(reason, TEXT_OR_NULL),
		WORD(status, status_word, PROFILE_NR_STATUS), FIELD(value, DOUBLE),
		FIELD(coverage, DOUBLE), FIELD(frequency_hz, U32_OR_NULL), FIELD(period, U64),
		FIELD(precise, I32)),
};
#undef ROW

#define ROW struct profile_process
const struct table table_process = {
	"process",
	COLUMNS(ROW, FIELD(id, ID), REF(parent, REF_OR_NULL, table_process), FIELD(pid, I32),
		FIELD(image, U32), FIELD(executable, TEXT_OR_NULL), FIELD(start_us, TIME),
		FIELD(end_us, TIME), FIELD(exit_status, EXIT_STATUS), FIELD(signal, SIGNAL),
		FIELD(tracked, BOOL), FIELD(untracked_reason, TEXT_OR_NULL)),
};
#undef ROW

#define ROW struct profile_thread
const struct table table_thread = {
	"thread",
	COLUMNS(ROW, FIELD(id, ID), REF(process, REF, table_process), FIELD(tid, I32),
		FIELD(name, TEXT_OR_NULL), FIELD(start_us, TIME), FIELD(end_us, TIME)),
};
#undef ROW

#define ROW struct profile_module
const struct table table_module = {
	"module",
	COLUMNS(ROW, FIELD(id, ID), WORD(kind, module_kind_word, PROFILE_MODULE_NR),
		FIELD(path, TEXT_OR_NULL), FIELD(name, TEXT), FIELD(build_id, TEXT_OR_NULL),
		FIELD(open_path, TEXT_OR_NULL), WORD(debug, debug_word, PROFILE_DEBUG_NR),
		FIELD(debug_path, TEXT_OR_NULL), FIELD(reason, TEXT_OR_NULL)),
};
#undef ROW

#define ROW struct profile_address
const struct table table_address = {
	"address",
	COLUMNS(ROW, FIELD(id, ID),
		{ .name = "kind",
		  .type = COLUMN_KIND,
		  .offset = offsetof(ROW, kind),
		  .words = { NULL, PROFILE_ADDRESS_NR } },
		REF(module, REF_OR_NULL, table_module), FIELD(value, U64)),
};
#undef ROW

#define ROW struct profile_stack
const struct table table_stack = {
	"stack",
	COLUMNS(ROW, FIELD(id, ID), REF(parent, REF_OR_NULL, table_stack),
		REF(address, REF, table_address)),
};
#undef ROW

#define ROW struct profile_sample
const struct table table_sample = {
	"sample",
	COLUMNS(ROW, FIELD(time_us, I64), REF(thread, REF, table_thread),
		REF(stack, REF, table_stack), REF(event, REF, table_event), FIELD(weight, U64)),
};
#undef ROW

#define ROW struct profile_total
const struct table table_total = {
	"total",
	COLUMNS(ROW, REF(stack, REF, table_stack), REF(thread, REF, table_thread),
		REF(event, REF, table_event), FIELD(samples, U64), FIELD(weight, U64),
		FIELD(weight_squared, DOUBLE)),
};
#undef ROW

#define ROW struct profile_heap
const struct table table_heap = {
	"heap",
	COLUMNS(ROW, REF(process, REF_OR_ALL, table_process), FIELD(allocations, U64),
		FIELD(frees, U64), FIELD(reallocations, U64), FIELD(allocated_bytes, U64),
		FIELD(freed_bytes, U64), FIELD(peak_bytes, U64), FIELD(peak_blocks, U64),
		FIELD(peak_time_us, TIME), FIELD(peak_exact, BOOL), FIELD(live_bytes, U64),
		FIELD(live_blocks, U64), FIELD(temporary, U64),
		FIELD_AS("churn_below_10us_bytes", churn[0].bytes, U64),
		FIELD_AS("churn_below_10us_blocks", churn[0].blocks, U64),
		FIELD_AS("churn_below_1ms_bytes", churn[1].bytes, U64),
		FIELD_AS("churn_below_1ms_blocks", churn[1].blocks, U64),
		FIELD_AS("churn_below_100ms_bytes", churn[2].bytes, U64),
		FIELD_AS("churn_below_100ms_blocks", churn[2].blocks, U64),
		FIELD_AS("churn_longer_bytes", churn[3].bytes, U64),
		FIELD_AS("churn_longer_blocks", churn[3].blocks, U64), FIELD(unknown_frees, U64),
		FIELD(late_events, U64), FIELD(lost_events, U64), FIELD(stall_us, U64),
		FIELD(inherited_bytes, U64), FIELD(inherited_frees, U64),
		FIELD(counted_allocations, U64), FIELD(counted_frees, U64),
		FIELD(counted_bytes, U64)),
};
#undef ROW

#define ROW struct profile_heap_site
const struct table table_heap_site = {
	"heap_site",
	COLUMNS(ROW, REF(process, REF, table_process), REF(stack, REF, table_stack),
		WORD(allocator, allocator_word, PROFILE_NR_ALLOCATORS), FIELD(allocations, U64),
		FIELD(frees, U64), FIELD(reallocations, U64), FIELD(allocated_bytes, U64),
		FIELD(freed_bytes, U64), FIELD(at_peak_bytes, U64), FIELD(at_peak_blocks, U64),
		FIELD(at_tree_peak_bytes, U64), FIELD(at_tree_peak_blocks, U64),
		FIELD(live_bytes, U64), FIELD(live_blocks, U64), FIELD(temporary, U64),
		FIELD(lifetime_us, U64), FIELD(lifetime_blocks, U64)),
};
#undef ROW

#define ROW struct profile_function
const struct table table_function = {
	"function",
	COLUMNS(ROW, FIELD(id, ID), REF(module, REF, table_module), FIELD(name, TEXT),
		FIELD(linkage_name, TEXT_OR_NULL), FIELD(has_name, BOOL), FIELD(file, TEXT_OR_NULL),
		FIELD(line, U32_OR_NULL)),
};
#undef ROW

#define ROW struct profile_frame
const struct table table_frame = {
	"frame",
	COLUMNS(ROW, REF(address, REF, table_address), FIELD(depth, U32),
		REF(function, REF, table_function), FIELD(file, TEXT_OR_NULL),
		FIELD(line, U32_OR_NULL)),
};
#undef ROW

#define ROW struct profile_quality
const struct table table_quality = {
	"quality",
	COLUMNS(ROW, WORD(kind, quality_word, PROFILE_NR_QUALITY), FIELD(count, U64),
		FIELD(detail, TEXT)),
};
#undef ROW

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

int column_bind(sqlite3_stmt *statement, int index, const struct column *column, const void *row)
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
	case COLUMN_WORD:
		return text_bind(statement, index, column->words.word(AS(unsigned int)));
	case COLUMN_REF:
	case COLUMN_REF_OR_NULL:
		return bind_unless(statement, index, AS(uint32_t), PROFILE_NONE);
	case COLUMN_REF_OR_ALL:
		return sqlite3_bind_int64(statement, index, (int32_t)AS(uint32_t));
	}
#undef AS
	return SQLITE_MISUSE;
}

static const char *set_integer(const struct column *column, char *field, int64_t value)
{
	switch (column->type) {
	case COLUMN_I64:
	case COLUMN_U64:
	case COLUMN_TIME:
		*(int64_t *)field = value;
		return NULL;
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
		*(const char **)field = NULL;
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

const char *column_read(sqlite3_stmt *statement, int index, const struct column *column, void *row,
			struct arena *arena)
{
	int type = sqlite3_column_type(statement, index);
	char *field = (char *)row + column->offset;

	if (type == SQLITE_NULL)
		return set_absent(column, field);

	switch (column->type) {
	case COLUMN_TEXT:
	case COLUMN_TEXT_OR_NULL:
		return set_text(field, text_read(statement, index, arena));
	case COLUMN_WORD:
		return set_word(column, field, (const char *)sqlite3_column_text(statement, index));
	case COLUMN_DOUBLE:
		if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
			return "is not a number";
		return set_double(field, sqlite3_column_double(statement, index));
	default:
		if (type != SQLITE_INTEGER)
			return "is not an integer";
		return set_integer(column, field, sqlite3_column_int64(statement, index));
	}
}
