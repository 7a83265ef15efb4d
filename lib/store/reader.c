/* SPDX-License-Identifier: MIT */
#include "store/reader.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/vec.h"
#include "store/check.h"
#include "store/columns.h"
#include "store/database.h"
#include "store/implied.h"
#include "store/input.h"
#include "store/load.h"
#include "store/samples.h"

struct reader {
	struct profile profile; /* what the user sees */
	struct input input;
	struct arena arena;
	struct loaded files; /* of struct file */
	struct texts texts;
	int64_t last_sample_us; /* of the later ones */
	VEC(const char *) arguments;
};

static struct reader *reader_of(const struct profile *profile)
{
	return (struct reader *)profile;
}

static struct load load_of(struct reader *reader)
{
	return (struct load){ reader->input.db, reader->profile.path, &reader->texts,
			      reader->input.size_bytes };
}

/* A table of the profile, and where its rows go. */
struct part {
	const struct table *table;
	const char *order;
	size_t rows, nr; /* offsets in struct profile */
};

#define PART(name, order_, field)                                       \
	{                                                               \
		&table_##name, order_, offsetof(struct profile, field), \
			offsetof(struct profile, nr_##field)            \
	}

/* What is referred to first. */
static const struct part parts[] = {
	PART(event, "id", events),
	PART(process, "id", processes),
	PART(thread, "id", threads),
	PART(module, "id", modules),
	PART(address, "id", addresses),
	PART(stack, "id", stacks),
	PART(function, "id", functions),
	PART(frame, "address, depth", frames),
	PART(first_sample, "id", first_samples),
	PART(sample_sum, "first", sample_sums),
	PART(heap, "process", heaps),
	PART(heap_site, "process, stack, allocator", heap_sites),
	PART(heap_thread, "process, tid", heap_threads),
	PART(heap_handoff, "process, from_tid, to_tid", heap_handoffs),
	PART(heap_size, "process, most_bytes", heap_sizes),
	PART(slice, "process, time_us", slices),
	PART(memory, "process, time_us", memory),
	PART(quality, "kind, detail", quality),
};

static void **rows_of(const struct reader *reader, const struct part *part)
{
	return (void **)((char *)&reader->profile + part->rows);
}

static size_t *nr_of(const struct reader *reader, const struct part *part)
{
	return (size_t *)((char *)&reader->profile + part->nr);
}

static size_t nr_rows_of(const struct reader *reader, const struct table *table)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].table == table)
			return *nr_of(reader, &parts[i]);
	return 0;
}

static bool refers_well(const struct column *column, const void *row, size_t nr)
{
	uint32_t id = *(const uint32_t *)((const char *)row + column->offset);

	return id < nr || (id == PROFILE_NONE && column->type != COLUMN_REF);
}

static int check_references(struct reader *reader, const struct table *table, const void *row,
			    size_t where, struct error *err)
{
	for (size_t i = 0; i < table->nr_columns; i++) {
		const struct column *column = &table->columns[i];

		if (column->refers && !refers_well(column, row, nr_rows_of(reader, column->refers)))
			return load_complain(reader->profile.path, table->name, where, column->name,
					     "refers to nothing", err);
	}
	return 0;
}

static int check_part(struct reader *reader, const struct part *part, struct error *err)
{
	const char *row = *rows_of(reader, part);
	int ret = 0;

	for (size_t i = 0; !ret && i < *nr_of(reader, part); i++, row += part->table->row_size)
		ret = check_references(reader, part->table, row, i, err);
	return ret;
}

static int load_part(struct reader *reader, const struct part *part, struct error *err)
{
	struct load load = load_of(reader);
	struct loaded rows = { 0 };
	int ret = load_table(&load, part->table, part->order, &rows, err);

	*rows_of(reader, part) = rows.at;
	*nr_of(reader, part) = rows.nr;
	return ret ? ret : check_part(reader, part, err);
}

static const struct column *find_column(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->nr_columns; i++)
		if (!strcmp(table->columns[i].name, name))
			return &table->columns[i];
	return NULL;
}

static const struct column symbolized_column = {
	.name = "symbolized",
	.type = COLUMN_BOOL,
	.offset = offsetof(struct profile, symbolized),
};

static void add_meta(struct profile *profile, const char *key, const char *value)
{
	profile->meta = xreallocarray(profile->meta, profile->nr_meta + 1, sizeof(*profile->meta));
	profile->meta[profile->nr_meta++] = (struct profile_meta){ key, value };
}

/* A row of the table meta: a field of struct profile_run, or something else. */
static int read_meta(struct reader *reader, sqlite3_stmt *statement, struct error *err)
{
	struct profile *profile = &reader->profile;
	const char *key = text_read(statement, 0, &reader->arena);
	const struct column *column = key ? find_column(&table_meta, key) : NULL;
	const char *why = NULL;

	if (!key)
		why = "is NULL";
	else if (column)
		why = column_read(statement, 1, column, &profile->run, &reader->texts);
	else if (!strcmp(key, symbolized_column.name))
		why = column_read(statement, 1, &symbolized_column, profile, &reader->texts);
	else
		add_meta(profile, key, text_read(statement, 1, &reader->arena));

	return why ? load_complain(profile->path, "meta", profile->nr_meta, key ? key : "key", why,
				   err)
		   : 0;
}

static int prepare(struct reader *reader, const char *sql, sqlite3_stmt **statement,
		   struct error *err)
{
	if (sqlite3_prepare_v2(reader->input.db, sql, -1, statement, NULL) == SQLITE_OK)
		return 0;
	return database_error(reader->input.db, reader->profile.path, "read", err);
}

/* Hands each row to read_row() until one is wrong. */
static int read_each(struct reader *reader, const char *sql,
		     int (*read_row)(struct reader *reader, sqlite3_stmt *row, struct error *err),
		     struct error *err)
{
	struct load load = load_of(reader);
	sqlite3_stmt *statement = NULL;
	int ret = prepare(reader, sql, &statement, err);

	while (!ret && (ret = load_step(&load, statement, err)) > 0)
		ret = read_row(reader, statement, err);
	sqlite3_finalize(statement);
	return ret;
}

/* Positions are dense, so a process's arguments are one run of the list. */
static int read_argument(struct reader *reader, sqlite3_stmt *statement, struct error *err)
{
	const struct profile *profile = &reader->profile;
	int64_t id = sqlite3_column_int64(statement, 0);
	const char *text = text_read(statement, 2, &reader->arena);

	if (id < 0 || (uint64_t)id >= profile->nr_processes || !text ||
	    sqlite3_column_int64(statement, 1) != (int64_t)profile->processes[id].nr_arguments)
		return load_complain(profile->path, "process_argument", reader->arguments.nr,
				     "process, position or text", "is wrong", err);

	profile->processes[id].nr_arguments++;
	vec_push(&reader->arguments, text);
	return 0;
}

static int load_arguments(struct reader *reader, struct error *err)
{
	struct profile *profile = &reader->profile;
	int ret = read_each(reader,
			    "SELECT process, position, text FROM process_argument"
			    " ORDER BY process, position",
			    read_argument, err);
	const char *const *next = reader->arguments.at;

	for (size_t i = 0; i < profile->nr_processes; i++) {
		profile->processes[i].arguments = next;
		next += profile->processes[i].nr_arguments;
	}
	return ret;
}

static int read_last_sample(struct reader *reader, sqlite3_stmt *statement, struct error *err)
{
	(void)err;
	reader->last_sample_us = sqlite3_column_int64(statement, 0);
	return 0;
}

/* What other rows name by id only for lack of room. */
static int load_files(struct reader *reader, struct error *err)
{
	struct load load = load_of(reader);
	int ret = load_table(&load, &table_file, "id", &reader->files, err);

	reader->texts.files = reader->files.at;
	reader->texts.nr_files = reader->files.nr;
	return ret;
}

static int load_all(struct reader *reader, struct error *err)
{
	int ret = read_each(reader, "SELECT key, value FROM meta ORDER BY key", read_meta, err);

	if (!ret)
		ret = load_files(reader, err);
	for (size_t i = 0; !ret && i < ARRAY_SIZE(parts); i++)
		ret = load_part(reader, &parts[i], err);
	for (size_t i = 0; !ret && i < reader->profile.nr_heap_sites; i++)
		implied_fill_in(&reader->profile.heap_sites[i], &reader->arena);
	if (!ret)
		ret = load_arguments(reader, err);
	if (!ret)
		ret = read_each(reader, "SELECT max(time_us) FROM later_sample", read_last_sample,
				err);
	if (!ret)
		ret = check_profile(&reader->profile, err);
	if (!ret)
		samples_sum_up(&reader->profile);
	return ret;
}

/* All from one transaction: a recorder may commit in between. */
static int load_profile(struct reader *reader, struct error *err)
{
	int ret = input_open(&reader->input, reader->profile.path, err);

	if (!ret)
		ret = load_all(reader, err);
	if (!ret)
		input_end(&reader->input);
	else
		ret = input_explain(reader->profile.path, ret, err);
	reader->profile.in_progress = reader->input.in_progress;
	return ret;
}

int profile_open(struct profile **profile, const char *path, struct error *err)
{
	struct reader *reader = xcalloc(1, sizeof(*reader));
	int ret;

	reader->profile.path = arena_strdup(&reader->arena, path);
	reader->profile.run.exit_status = -1;
	reader->texts.arena = &reader->arena;
	ret = load_profile(reader, err);
	if (ret < 0) {
		profile_free(&reader->profile);
		reader = NULL;
	}
	*profile = reader ? &reader->profile : NULL;
	return ret;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;

	struct reader *reader = reader_of(profile);

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		free(*rows_of(reader, &parts[i]));
	free(reader->files.at);
	free(profile->totals);
	free(profile->first_frame);
	free(profile->meta);
	vec_free(&reader->arguments);
	input_close(&reader->input);
	arena_release(&reader->arena);
	free(reader);
}

const char *profile_meta_value(const struct profile *profile, const char *key)
{
	for (size_t i = 0; i < profile->nr_meta; i++)
		if (!strcmp(profile->meta[i].key, key))
			return profile->meta[i].value;
	return NULL;
}

static enum profile_module_kind module_kind(const struct profile *profile, uint32_t stack)
{
	uint32_t module = profile->addresses[profile->stacks[stack].address].module;

	return module == PROFILE_NONE ? PROFILE_MODULE_UNKNOWN : profile->modules[module].kind;
}

bool profile_is_overhead(const struct profile *profile, uint32_t stack)
{
	while (module_kind(profile, stack) == PROFILE_MODULE_KERNEL &&
	       profile->stacks[stack].parent != PROFILE_NONE)
		stack = profile->stacks[stack].parent;
	return module_kind(profile, stack) == PROFILE_MODULE_SELF;
}

/* A recorder goes on: a sample may come late, of a first one that came after the others were read. */
static bool is_news(const struct reader *reader, const struct profile_later_sample *sample)
{
	return reader->profile.in_progress && sample->first >= reader->profile.nr_first_samples;
}

static int use_later(struct reader *reader, sqlite3_stmt *statement, size_t where,
		     struct samples_in_time *in_time, struct error *err)
{
	struct load load = load_of(reader);
	struct profile_later_sample sample;
	int ret = load_row(&load, statement, &table_later_sample, &sample, where, err);

	if (!ret && is_news(reader, &sample))
		return 0;
	if (!ret)
		ret = check_references(reader, &table_later_sample, &sample, where, err);
	return ret ? ret : samples_use_later(in_time, &sample);
}

static int each_in_memory(const struct profile *profile,
			  int (*use)(void *context, const struct profile_sample *sample),
			  void *context)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < profile->nr_samples; i++)
		ret = use(context, &profile->samples[i]);
	return ret;
}

static int each_in_file(const struct profile *profile,
			int (*use)(void *context, const struct profile_sample *sample),
			void *context, struct error *err)
{
	struct reader *reader = reader_of(profile);
	struct load load = load_of(reader);
	struct samples_in_time in_time;
	sqlite3_stmt *statement = NULL;
	size_t where = 0;
	int ret = load_prepare(&load, &table_later_sample, "WHERE time_us <= ? ORDER BY time_us",
			       &statement, err);

	input_limit(&reader->input);
	samples_in_time_init(&in_time, profile, use, context);
	sqlite3_bind_int64(statement, 1, reader->last_sample_us);
	while (!ret && (ret = load_step(&load, statement, err)) > 0)
		ret = use_later(reader, statement, where++, &in_time, err);
	if (!ret)
		ret = samples_use_rest(&in_time);
	samples_in_time_release(&in_time);
	sqlite3_finalize(statement);
	return ret;
}

int profile_each_sample(const struct profile *profile,
			int (*use)(void *context, const struct profile_sample *sample),
			void *context, struct error *err)
{
	return profile->path ? each_in_file(profile, use, context, err)
			     : each_in_memory(profile, use, context);
}
