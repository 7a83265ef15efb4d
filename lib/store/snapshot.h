/* SPDX-License-Identifier: MIT */
/*
 * snapshot - a private copy of a profile, below $TMPDIR, for a reader who would have to write.
 *
 * A profile whose recorder was killed within a commit has to be rolled back before it can be read,
 * one without names gets some first.  A reader must not write to what it reads, and often may not.
 *
 *	if (snapshot_make(&copy, "cprof.data", &err) >= 0)
 *		use(copy);
 *	snapshot_remove(copy);
 */
#ifndef STORE_SNAPSHOT_H
#define STORE_SNAPSHOT_H

#include "base/error.h"

struct sqlite3;

/* The file, and its journal if that is to be rolled back; of a recording in progress what is
 * committed. */
int snapshot_make(char **copy, const char *path, struct error *err);
/* Also frees the path.  Whoever has the file open keeps it. */
void snapshot_remove(char *copy);

/*
 * Copies the file and its journal, opens the copy and rolls it back.  The copy has no name any
 * more; its space is free again when *db is closed.
 */
int snapshot_open(struct sqlite3 **db, const char *path, struct error *err);

#endif
