/* SPDX-License-Identifier: MIT */
/*
 * database - SQLite connections that trust nothing in the file.
 *
 *	database_open(&db, path, SQLITE_OPEN_READONLY, &err);
 *	ret = sqlite3_exec(db, ...);
 *	if (ret != SQLITE_OK)
 *		return database_error(db, path, "read", &err);
 *	sqlite3_close(db);
 */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include <sqlite3.h>

#include "base/error.h"

/* Nothing in the file runs (no triggers, no functions of its schema), its cells are checked. */
int database_open(sqlite3 **db, const char *path, int flags, struct error *err);

/* "<doing> <path>: <what SQLite says>", with the code that fits: -ENOSPC, ERR_BUSY, ERR_FORMAT...
 */
int database_error(sqlite3 *db, const char *path, const char *doing, struct error *err);

/* The file that SQLite keeps beside path while it commits.  The caller frees. */
char *database_journal(const char *path);

/*
 * Whether the journal at this path was cut off by a crash, so that the next to open the database
 * has to roll it back.  ERR_FORMAT if it was made by something else than our writer: rolling back
 * a journal that names a super-journal would make SQLite delete the file of that name.
 */
int database_journal_is_hot(const char *journal, struct error *err);

#endif
