/* SPDX-License-Identifier: MIT */
/*
 * committer - the thread that puts the profile into its file, once a second.
 *
 *	committer_open(&committer, path, aggregate, &err);	// the file is there now
 *	committer_start(committer, &run, &err);
 *	committer_run(committer, &run);		// when something of it has changed
 *	committer_now(committer);		// not in a second but now
 *	committer_finish(committer, &run, &err);	// the last time, and ends the thread
 *	committer_close(committer);
 *
 * Nobody else touches the file.  When it cannot be written (disk full) what was committed before
 * stays, committer_failed_fd() becomes readable, and nothing more is written.
 */
#ifndef RECORD_COMMITTER_H
#define RECORD_COMMITTER_H

#include <stdbool.h>

#include "base/error.h"
#include "record/aggregate/aggregate.h"
#include "store/profile.h"

struct committer;

int committer_open(struct committer **committer, const char *path, struct aggregate *aggregate,
		   struct error *err);
void committer_close(struct committer *committer);
/* Instead of close, when nothing was recorded: the file that was there before is back. */
void committer_discard(struct committer *committer);

/* Where the file really is: see writer_open(). */
const char *committer_path(const struct committer *committer);

/* Anything else worth keeping, before the start.  Takes the value over, for free(). */
void committer_meta(struct committer *committer, const char *key, char *value);

/* Commits once before it returns.  The strings in run have to stay until committer_finish(). */
int committer_start(struct committer *committer, const struct profile_run *run, struct error *err);
/* The strings, too, have to stay. */
void committer_run(struct committer *committer, const struct profile_run *run);
void committer_now(struct committer *committer);
/* From here on this is called before each commit, by the thread: what is not in the aggregate yet gets there.
 * Until _finish(). */
void committer_before(struct committer *committer, void (*before)(void *context), void *context);

/* Readable when the thread gave up; committer_error() says why. */
int committer_failed_fd(const struct committer *committer);
bool committer_error(struct committer *committer, struct error *err);

/* The error is the one that the thread had, or that the last commit has. */
int committer_finish(struct committer *committer, const struct profile_run *run, struct error *err);

#endif
