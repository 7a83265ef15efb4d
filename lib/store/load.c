/* SPDX-License-Identifier: MIT */
#include "store/load.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/database.h"

int load_complain(const char *path, const char *table, size_t where, const char *what,
		  const char *why, struct error *err)
{
	return error_set(err, ERR_FORMAT, "%s is damaged: %s %zu: %s %s", path, table, where, what,
			 why);
}

int load_step(const struct load *load, sqlite3_stmt *statement, struct error *err)
{
	switch (sqlite3_step(statement)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return database_error(load->db, load->path, "read", err);
	}
}

int load_prepare(const struct load *load, const struct table *table, const char *rest,
		 sqlite3_stmt **statement, struct error *err)
{
	sqlite3_str *sql = sqlite3_str_new(load->db);

	sqlite3_str_appendall(sql, "SELECT ");
	for (size_t i = 0; i < table->nr_columns; i++)
		sqlite3_str_appendf(sql, "%s%s", i ? ", " : "", table->columns[i].name);
	sqlite3_str_appendf(sql, " FROM \"%w\" %s", table->name, rest);

	char *text = sqlite3_str_finish(sql);
	int ret = sqlite3_prepare_v2(load->db, text, -1, statement, NULL);

	sqlite3_free(text);
	return ret == SQLITE_OK ? 0 : database_error(load->db, load->path, "read", err);
}

static const char *check_id(const struct column *column, const void *row, size_t where)
{
	if (column->type != COLUMN_ID)
		return NULL;
	return *(const uint32_t *)((const char *)row + column->offset) == where ? NULL
										: "is not dense";
}

int load_row(const struct load *load, sqlite3_stmt *statement, const struct table *table, void *row,
	     size_t where, struct error *err)
{
	for (size_t i = 0; i < table->nr_columns; i++) {
		const struct column *column = &table->columns[i];
		const char *why = column_read(statement, i, column, row, load->texts);

		if (!why)
			why = check_id(column, row, where);
		if (why)
			return load_complain(load->path, table->name, where, column->name, why,
					     err);
	}
	return 0;
}

static void *add_row(struct loaded *rows, size_t size)
{
	if (rows->nr == rows->room) {
		rows->room = rows->room ? rows->room * 2 : 64;
		rows->at = xreallocarray(rows->at, rows->room, size);
	}
	return memset((char *)rows->at + rows->nr++ * size, 0, size);
}

/* Each column takes a byte at least.  More rows than fit come from pages that are read again and
 * again, in a file that was made so. */
static bool fits(const struct load *load, const struct table *table, const struct loaded *rows)
{
	return rows->nr <= load->size_bytes / table->nr_columns;
}

static int load_rows(const struct load *load, sqlite3_stmt *statement, const struct table *table,
		     struct loaded *rows, struct error *err)
{
	int ret;

	while ((ret = load_step(load, statement, err)) > 0) {
		size_t where = rows->nr;

		ret = load_row(load, statement, table, add_row(rows, table->row_size), where, err);
		if (!ret && !fits(load, table, rows))
			ret = load_complain(load->path, table->name, where, "row",
					    "has no room in the file", err);
		if (ret < 0)
			break;
	}
	return ret;
}

int load_table(const struct load *load, const struct table *table, const char *order,
	       struct loaded *rows, struct error *err)
{
	char *rest = xasprintf("ORDER BY %s", order);
	sqlite3_stmt *statement = NULL;
	int ret = load_prepare(load, table, rest, &statement, err);

	free(rest);
	if (!ret)
		ret = load_rows(load, statement, table, rows, err);
	sqlite3_finalize(statement);
	return ret;
}
