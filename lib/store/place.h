/* SPDX-License-Identifier: MIT */
/*
 * place - the file that a writer holds.
 *
 *	struct place place;
 *
 *	place_claim(&place, "cprof.data", &err);	// an empty file, ours alone
 *	... SQLite opens, writes and closes place.path ...
 *	place_release(&place);
 *
 * A place is held by an open file description lock (F_OFD_SETLK) on one byte far behind those that
 * SQLite locks.  SQLite's own locks are per process and held only within a transaction, so they
 * cannot keep a second recorder out between two; flock() would, but over NFS it is a lock on the
 * whole file and collides with them.  Readers do not look at ours.  It ends with the process,
 * however that ends.  Because closing any descriptor of a file drops the process's SQLite locks on
 * it, release comes after SQLite has closed.
 */
#ifndef STORE_PLACE_H
#define STORE_PLACE_H

#include <stdbool.h>

#include "base/error.h"

struct place {
	char *path;
	char *old; /* where the profile went that was there; NULL: there was none */
	int fd;
};

/*
 * Creates an empty file at path, mode 0600, under sudo owned by who called it.  A profile already
 * there is rolled back if it has to be and becomes path.old; one that is held gets path.PID taken
 * instead.  Anything else but an empty file is ERR_FORMAT and stays.
 */
int place_claim(struct place *place, const char *path, struct error *err);
/* Takes hold of a profile as it is.  ERR_BUSY if another has it. */
int place_hold(struct place *place, const char *path, struct error *err);
void place_release(struct place *place);
/* Instead of release: removes the file and brings back the one that was there before. */
void place_discard(struct place *place);

/* Whether somebody holds the file that is open here, for reading or writing. */
bool place_is_held(int fd);

#endif
