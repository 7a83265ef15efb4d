/* SPDX-License-Identifier: MIT */
/*
 * header - what the first bytes of a file say, before SQLite gets to see it.
 *
 *	if (header_check(fd, path, &err) < 0)
 *		return err.code;	// empty, not a profile, of another version
 */
#ifndef STORE_HEADER_H
#define STORE_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct header {
	uint32_t version;    /* of the format */
	uint64_t size_bytes; /* that the file should have, as of its last complete commit */
	bool ours;	     /* bears our application id */
	bool logged;	     /* somebody switched it to a write-ahead log */
};

/* ERR_FORMAT if the file is empty, shorter than a header, or no SQLite database. */
int header_read(struct header *header, int fd, const char *path, struct error *err);
/* ERR_FORMAT if it is one, but not a profile as the writer makes them. */
int header_judge(const struct header *header, const char *path, struct error *err);
/* Both, and ERR_VERSION if a cprof with another format wrote it. */
int header_check(int fd, const char *path, struct error *err);
/* Whether a profile is there, of whatever version, finished or not. */
bool header_is_at(const char *path);

#endif
