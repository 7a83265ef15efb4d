/* SPDX-License-Identifier: MIT */
/*
 * snapshot - a private copy of a profile whose recorder was killed within a commit.
 *
 * Such a file has to be rolled back before it can be read.  A reader must not write to what it
 * reads, and often may not, so this is done in a copy below $TMPDIR.
 */
#ifndef STORE_SNAPSHOT_H
#define STORE_SNAPSHOT_H

#include <sqlite3.h>

#include "base/error.h"

/*
 * Copies the file and its journal, opens the copy and rolls it back.  The copy has no name any
 * more; its space is free again when *db is closed.
 */
int snapshot_open(sqlite3 **db, const char *path, struct error *err);

#endif
