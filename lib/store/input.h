/* SPDX-License-Identifier: MIT */
/*
 * input - the file of a profile, opened for reading and looked over.
 *
 *	struct input input = { 0 };
 *
 *	ret = input_open(&input, path, &err);
 *	if (!ret)
 *		ret = ... queries on input.db ...;	// all see the same commit
 *	if (ret < 0)
 *		ret = input_explain(path, ret, &err);
 *	input_end(&input);		// a recorder may commit again
 *	input_close(&input);
 *
 * Opened read-only, without writing anything beside it; the schema is ours.  Queries that take
 * more steps than a file of this size can need are interrupted.
 */
#ifndef STORE_INPUT_H
#define STORE_INPUT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Must stay where it is while it is open. */
struct input {
	sqlite3 *db;
	int64_t size_bytes; /* as SQLite has checked it */
	int64_t steps_left;
	bool in_progress; /* a recorder holds it */
};

int input_open(struct input *input, const char *path, struct error *err);
void input_end(struct input *input);
/* Takes one that could not be opened, too. */
void input_close(struct input *input);

/* From here on as many steps again. */
void input_limit(struct input *input);

/* Says "truncated" where SQLite only finds damage.  Returns ret. */
int input_explain(const char *path, int ret, struct error *err);

#endif
