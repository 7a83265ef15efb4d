/* SPDX-License-Identifier: MIT */
/*
 * load - the rows of one table, checked as far as one table can be.
 *
 *	struct load load = { .db = db, .path = path, .texts = &texts, .size_bytes = size };
 *	struct loaded rows = { 0 };
 *
 *	load_table(&load, &table_thread, "id", &rows, &err);	// ERR_FORMAT if a value is wrong
 *	struct profile_thread *threads = rows.at;		// the caller frees
 */
#ifndef STORE_LOAD_H
#define STORE_LOAD_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/columns.h"

struct load {
	sqlite3 *db;
	const char *path; /* for messages */
	const struct texts *texts;
	uint64_t size_bytes; /* of the file: rows that do not fit are not there */
};

struct loaded {
	void *at;
	size_t nr, room;
};

/* Ids (COLUMN_ID) have to be 0, 1, 2...  What was loaded before a failure is in *rows. */
int load_table(const struct load *load, const struct table *table, const char *order,
	       struct loaded *rows, struct error *err);

/* One row; where is its place, for messages. */
int load_row(const struct load *load, sqlite3_stmt *statement, const struct table *table, void *row,
	     size_t where, struct error *err);

/* "SELECT <the table's columns> FROM table <rest>".  The caller finalizes. */
int load_prepare(const struct load *load, const struct table *table, const char *rest,
		 sqlite3_stmt **statement, struct error *err);

/* 1: there is a row; 0: no more; or what SQLite says. */
int load_step(const struct load *load, sqlite3_stmt *statement, struct error *err);

/* ERR_FORMAT "<path> is damaged: <table> <where>: <what> <why>". */
int load_complain(const char *path, const char *table, size_t where, const char *what,
		  const char *why, struct error *err);

#endif
