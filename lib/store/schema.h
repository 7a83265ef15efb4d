/* SPDX-License-Identifier: MIT */
/*
 * schema - the tables and views of a profile, as SQL.
 *
 * The text in schema.c and views.c is the documentation of the format: SQLite keeps it, comments
 * included, so `sqlite3 cprof.data .schema` shows it too.  Tables are for cprof (columns.h says
 * which struct is in which), views for everybody else; both are compared with this text when a
 * profile is opened.  A change of either is a new SCHEMA_VERSION.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>

#include "base/error.h"

#define SCHEMA_APPLICATION_ID 0x43505246 /* "CPRF" */
#define SCHEMA_VERSION 11

struct schema_object {
	const char *name;
	const char *sql; /* the statement that creates it */
};

/* In the order in which they are created; end with a name of NULL. */
extern const struct schema_object schema_tables[];
extern const struct schema_object schema_views[];

/* Creates everything in an empty database, within the caller's transaction.  An SQLite code. */
int schema_create(sqlite3 *db);
/*
 * Whether the database has all of it, to the letter, and nothing else (but SQLite's own
 * statistics).  ERR_FORMAT says what differs; path is for the message.
 */
int schema_check(sqlite3 *db, const char *path, struct error *err);

#endif
