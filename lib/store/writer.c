/* SPDX-License-Identifier: MIT */
#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "store/columns.h"
#include "store/database.h"
#include "store/implied.h"
#include "store/place.h"
#include "store/schema.h"

enum statement {
	PUT_EVENT,
	PUT_PROCESS,
	PUT_THREAD,
	PUT_MODULE,
	PUT_ADDRESS,
	PUT_STACK,
	PUT_FIRST_SAMPLE,
	PUT_LATER_SAMPLE,
	PUT_SAMPLE_SUM,
	PUT_HEAP,
	PUT_HEAP_SITE,
	PUT_HEAP_SIZE,
	PUT_HEAP_THREAD,
	PUT_HEAP_HANDOFF,
	PUT_SLICE,
	PUT_MEMORY,
	PUT_FILE,
	PUT_FUNCTION,
	PUT_FRAME,
	PUT_QUALITY,
	NR_PUTS,
	PUT_META = NR_PUTS,
	PUT_ARGUMENT,
	CUT_ARGUMENTS,
	CLEAR_SLICES,
	CLEAR_MEMORY,
	NR_STATEMENTS
};

static const struct table *const tables[NR_PUTS] = {
	[PUT_EVENT] = &table_event,
	[PUT_PROCESS] = &table_process,
	[PUT_THREAD] = &table_thread,
	[PUT_MODULE] = &table_module,
	[PUT_ADDRESS] = &table_address,
	[PUT_STACK] = &table_stack,
	[PUT_FIRST_SAMPLE] = &table_first_sample,
	[PUT_LATER_SAMPLE] = &table_later_sample,
	[PUT_SAMPLE_SUM] = &table_sample_sum,
	[PUT_HEAP] = &table_heap,
	[PUT_HEAP_SITE] = &table_heap_site,
	[PUT_HEAP_SIZE] = &table_heap_size,
	[PUT_HEAP_THREAD] = &table_heap_thread,
	[PUT_HEAP_HANDOFF] = &table_heap_handoff,
	[PUT_SLICE] = &table_slice,
	[PUT_MEMORY] = &table_memory,
	[PUT_FILE] = &table_file,
	[PUT_FUNCTION] = &table_function,
	[PUT_FRAME] = &table_frame,
	[PUT_QUALITY] = &table_quality,
};

struct writer {
	struct place place;
	sqlite3 *db;
	sqlite3_stmt *statements[NR_STATEMENTS];
	struct intern files; /* their ids in the file */
	uint32_t nr_files;   /* that have their row */
	bool in_transaction;
	bool holds_signal;
	struct error failure; /* code 0: none */
	/* Each microsecond of it has a later sample: where the last one was that had to be moved. */
	struct {
		int64_t start_us, end_us;
	} taken;
};

static void fail(struct writer *writer)
{
	if (writer->failure.code)
		return;
	database_error(writer->db, writer->place.path, "write", &writer->failure);
	if (writer->failure.hint[0])
		return;
	if (writer->failure.code == -ENOSPC || writer->failure.code == -EDQUOT)
		error_hint(&writer->failure, "make room, or choose another place with -o FILE");
	else
		error_hint(&writer->failure, "choose another place with -o FILE");
}

static void check(struct writer *writer, int sqlite_code)
{
	if (sqlite_code != SQLITE_OK)
		fail(writer);
}

static void run_sql(struct writer *writer, const char *sql)
{
	if (!writer->failure.code)
		check(writer, sqlite3_exec(writer->db, sql, NULL, NULL, NULL));
}

static sqlite3_stmt *prepare(struct writer *writer, enum statement which, const char *sql)
{
	check(writer, sqlite3_prepare_v3(writer->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
					 &writer->statements[which], NULL));
	return writer->statements[which];
}

static void run_statement(struct writer *writer, sqlite3_stmt *statement)
{
	if (sqlite3_step(statement) != SQLITE_DONE)
		fail(writer);
	sqlite3_reset(statement);
}

/* Another row of the same key is replaced; but a sample of the same time is another one. */
static const char *if_there(enum statement which)
{
	return which == PUT_LATER_SAMPLE ? "IGNORE" : "REPLACE";
}

/* INSERT OR REPLACE INTO table(a, b, ...) VALUES(?, ?, ...) */
static sqlite3_stmt *prepare_put(struct writer *writer, enum statement which)
{
	const struct table *table = tables[which];
	sqlite3_str *sql = sqlite3_str_new(writer->db);

	sqlite3_str_appendf(sql, "INSERT OR %s INTO \"%w\"(", if_there(which), table->name);
	for (size_t i = 0; i < table->nr_columns; i++)
		sqlite3_str_appendf(sql, "%s%s", i ? ", " : "", table->columns[i].name);
	sqlite3_str_appendall(sql, ") VALUES(");
	for (size_t i = 0; i < table->nr_columns; i++)
		sqlite3_str_appendall(sql, i ? ", ?" : "?");
	sqlite3_str_appendall(sql, ")");

	char *text = sqlite3_str_finish(sql);
	sqlite3_stmt *statement = prepare(writer, which, text);

	sqlite3_free(text);
	return statement;
}

static void run_put(struct writer *writer, enum statement which, const void *row)
{
	const struct table *table = tables[which];
	sqlite3_stmt *statement = writer->statements[which];

	if (!statement)
		statement = prepare_put(writer, which);
	for (size_t i = 0; i < table->nr_columns; i++)
		check(writer,
		      column_bind(statement, i + 1, &table->columns[i], row, &writer->files));
	run_statement(writer, statement);
}

/* Those that a row just put was the first to name. */
static void put_new_files(struct writer *writer)
{
	while (writer->nr_files < writer->files.nr) {
		uint32_t id = writer->nr_files++;
		struct file file = { .id = id, .path = intern_text(&writer->files, id) };

		run_put(writer, PUT_FILE, &file);
	}
}

static void put(struct writer *writer, enum statement which, const void *row)
{
	if (writer->failure.code)
		return;
	run_put(writer, which, row);
	put_new_files(writer);
}

static int open_database(struct writer *writer, struct error *err)
{
	int ret = database_open(&writer->db, writer->place.path, SQLITE_OPEN_READWRITE, err);

	if (ret < 0)
		return ret;
	run_sql(writer, "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF;"
			"PRAGMA cache_spill = OFF; PRAGMA temp_store = MEMORY");
	return 0;
}

/* Returns the failure there was, if any. */
static int report(const struct writer *writer, struct error *err)
{
	if (writer->failure.code && err)
		*err = writer->failure;
	return writer->failure.code;
}

static int create_profile(struct writer *writer, struct error *err)
{
	writer_begin(writer);
	if (!writer->failure.code)
		check(writer, schema_create(writer->db));
	return writer_commit(writer, err);
}

int writer_open(struct writer **result, const char *path, struct error *err)
{
	struct writer *writer = xcalloc(1, sizeof(*writer));
	int ret = place_claim(&writer->place, path, err);

	if (!ret)
		ret = open_database(writer, err);
	if (!ret)
		ret = create_profile(writer, err);
	if (ret < 0) {
		writer_discard(writer);
		writer = NULL;
	}
	*result = writer;
	return ret;
}

int writer_open_existing(struct writer **result, const char *path, struct error *err)
{
	struct writer *writer = xcalloc(1, sizeof(*writer));
	int ret = place_hold(&writer->place, path, err);

	if (!ret)
		ret = open_database(writer, err);
	if (!ret)
		ret = schema_check(writer->db, path, err);
	if (!ret)
		ret = report(writer, err);
	if (ret < 0) {
		writer_close(writer);
		writer = NULL;
	}
	*result = writer;
	return ret;
}

const char *writer_path(const struct writer *writer)
{
	return writer->place.path;
}

static void close_database(struct writer *writer)
{
	for (int i = 0; i < NR_STATEMENTS; i++)
		sqlite3_finalize(writer->statements[i]);
	sqlite3_close(writer->db);
	intern_release(&writer->files);
}

void writer_close(struct writer *writer)
{
	if (!writer)
		return;

	close_database(writer);
	place_release(&writer->place);
	free(writer);
}

void writer_discard(struct writer *writer)
{
	if (!writer)
		return;

	close_database(writer);
	place_discard(&writer->place);
	free(writer);
}

static sigset_t file_size_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	return set;
}

/* Beyond `ulimit -f` a write shall fail, not end the process. */
static void hold_signal(struct writer *writer)
{
	sigset_t set = file_size_signal(), before;

	pthread_sigmask(SIG_BLOCK, &set, &before);
	writer->holds_signal |= !sigismember(&before, SIGXFSZ);
}

static void drop_signal(struct writer *writer)
{
	static const struct timespec at_once;
	sigset_t set = file_size_signal();

	if (!writer->holds_signal)
		return;
	sigtimedwait(&set, NULL, &at_once);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	writer->holds_signal = false;
}

void writer_begin(struct writer *writer)
{
	hold_signal(writer);
	if (!writer->in_transaction)
		run_sql(writer, "BEGIN");
	writer->in_transaction = true;
}

/* Readers hold a commit up only while they read; if one stays, what was put is still there and
 * goes with the next commit. */
static int commit_later(struct writer *writer, struct error *err)
{
	return database_error(writer->db, writer->place.path, "write", err);
}

static int commit(struct writer *writer, struct error *err)
{
	if (!writer->failure.code) {
		int ret = sqlite3_exec(writer->db, "COMMIT", NULL, NULL, NULL);

		if (ret == SQLITE_BUSY)
			return commit_later(writer, err);
		check(writer, ret);
	}
	if (writer->failure.code && !sqlite3_get_autocommit(writer->db))
		sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
	writer->in_transaction = false;
	return report(writer, err);
}

int writer_commit(struct writer *writer, struct error *err)
{
	int ret = commit(writer, err);

	drop_signal(writer);
	return ret;
}

static sqlite3_stmt *meta_statement(struct writer *writer, const char *key)
{
	sqlite3_stmt *statement = writer->statements[PUT_META];

	if (!statement)
		statement = prepare(writer, PUT_META,
				    "INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)");
	check(writer, text_bind(statement, 1, key));
	return statement;
}

void writer_put_run(struct writer *writer, const struct profile_run *run)
{
	for (size_t i = 0; i < table_meta.nr_columns && !writer->failure.code; i++) {
		const struct column *column = &table_meta.columns[i];
		sqlite3_stmt *statement = meta_statement(writer, column->name);

		check(writer, column_bind(statement, 2, column, run, NULL));
		run_statement(writer, statement);
	}
}

void writer_put_meta(struct writer *writer, const char *key, const char *value)
{
	if (writer->failure.code)
		return;

	sqlite3_stmt *statement = meta_statement(writer, key);

	check(writer, text_bind(statement, 2, value));
	run_statement(writer, statement);
}

static void put_argument(struct writer *writer, uint32_t process, size_t position, const char *text)
{
	sqlite3_stmt *statement = writer->statements[PUT_ARGUMENT];

	if (!statement)
		statement = prepare(writer, PUT_ARGUMENT,
				    "INSERT OR REPLACE INTO process_argument VALUES(?, ?, ?)");
	sqlite3_bind_int64(statement, 1, process);
	sqlite3_bind_int64(statement, 2, position);
	check(writer, text_bind(statement, 3, text ? text : ""));
	run_statement(writer, statement);
}

/* A command line that is replaced by a shorter one. */
static void cut_arguments(struct writer *writer, uint32_t process, size_t nr)
{
	sqlite3_stmt *statement = writer->statements[CUT_ARGUMENTS];

	if (!statement)
		statement =
			prepare(writer, CUT_ARGUMENTS,
				"DELETE FROM process_argument WHERE process = ? AND position >= ?");
	sqlite3_bind_int64(statement, 1, process);
	sqlite3_bind_int64(statement, 2, nr);
	run_statement(writer, statement);
}

void writer_put_process(struct writer *writer, const struct profile_process *process)
{
	put(writer, PUT_PROCESS, process);
	for (size_t i = 0; process->arguments && i < process->nr_arguments && !writer->failure.code;
	     i++)
		put_argument(writer, process->id, i, process->arguments[i]);
	if (!writer->failure.code)
		cut_arguments(writer, process->id, process->nr_arguments);
}

void writer_put_event(struct writer *writer, const struct profile_event *event)
{
	put(writer, PUT_EVENT, event);
}

void writer_put_thread(struct writer *writer, const struct profile_thread *thread)
{
	put(writer, PUT_THREAD, thread);
}

void writer_put_module(struct writer *writer, const struct profile_module *module)
{
	put(writer, PUT_MODULE, module);
}

void writer_put_address(struct writer *writer, const struct profile_address *address)
{
	put(writer, PUT_ADDRESS, address);
}

void writer_put_stack(struct writer *writer, const struct profile_stack *stack)
{
	put(writer, PUT_STACK, stack);
}

void writer_put_first_sample(struct writer *writer, const struct profile_first_sample *sample)
{
	put(writer, PUT_FIRST_SAMPLE, sample);
}

void writer_put_later_sample(struct writer *writer, const struct profile_later_sample *sample)
{
	struct profile_later_sample row = *sample;
	bool is_taken = row.time_us >= writer->taken.start_us && row.time_us < writer->taken.end_us;

	if (is_taken)
		row.time_us = writer->taken.end_us;
	put(writer, PUT_LATER_SAMPLE, &row);
	while (!writer->failure.code && !sqlite3_changes(writer->db)) {
		row.time_us++;
		put(writer, PUT_LATER_SAMPLE, &row);
	}
	if (!is_taken && row.time_us > sample->time_us)
		writer->taken.start_us = sample->time_us;
	if (row.time_us > sample->time_us)
		writer->taken.end_us = row.time_us + 1;
}

void writer_put_sample_sum(struct writer *writer, const struct profile_sample_sum *sum)
{
	put(writer, PUT_SAMPLE_SUM, sum);
}

void writer_put_heap(struct writer *writer, const struct profile_heap *heap)
{
	put(writer, PUT_HEAP, heap);
}

void writer_put_heap_site(struct writer *writer, const struct profile_heap_site *site)
{
	struct profile_heap_site row = *site;

	implied_leave_out(&row);
	put(writer, PUT_HEAP_SITE, &row);
}

void writer_put_heap_thread(struct writer *writer, const struct profile_heap_thread *thread)
{
	put(writer, PUT_HEAP_THREAD, thread);
}

void writer_put_heap_handoff(struct writer *writer, const struct profile_heap_handoff *handoff)
{
	put(writer, PUT_HEAP_HANDOFF, handoff);
}

void writer_put_heap_size(struct writer *writer, const struct profile_heap_size *size)
{
	put(writer, PUT_HEAP_SIZE, size);
}

static void clear(struct writer *writer, enum statement which, const char *sql, uint32_t process)
{
	sqlite3_stmt *statement = writer->statements[which];

	if (writer->failure.code)
		return;
	if (!statement)
		statement = prepare(writer, which, sql);
	sqlite3_bind_int64(statement, 1, (int32_t)process);
	run_statement(writer, statement);
}

void writer_clear_slices(struct writer *writer, uint32_t process)
{
	clear(writer, CLEAR_SLICES, "DELETE FROM slice WHERE process = ?", process);
}

void writer_clear_memory(struct writer *writer, uint32_t process)
{
	clear(writer, CLEAR_MEMORY, "DELETE FROM memory WHERE process = ?", process);
}

void writer_put_slice(struct writer *writer, const struct profile_slice *slice)
{
	put(writer, PUT_SLICE, slice);
}

void writer_put_memory(struct writer *writer, const struct profile_memory *memory)
{
	put(writer, PUT_MEMORY, memory);
}

void writer_put_quality(struct writer *writer, const struct profile_quality *quality)
{
	put(writer, PUT_QUALITY, quality);
}

void writer_clear_symbols(struct writer *writer)
{
	intern_release(&writer->files);
	writer->nr_files = 0;
	run_sql(writer, "DELETE FROM frame; DELETE FROM function; DELETE FROM file;"
			"DELETE FROM quality WHERE kind IN ('no-symbol', 'no-debug');"
			"INSERT OR REPLACE INTO meta(key, value) VALUES('symbolized', 1)");
}

void writer_put_function(struct writer *writer, const struct profile_function *function)
{
	put(writer, PUT_FUNCTION, function);
}

void writer_put_frame(struct writer *writer, const struct profile_frame *frame)
{
	put(writer, PUT_FRAME, frame);
}
