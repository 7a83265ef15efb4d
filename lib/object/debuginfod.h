/* SPDX-License-Identifier: MIT */
/*
 * debuginfod - fetches debug files by their build id from servers.
 *
 *	struct debuginfod *servers = debuginfod_open("https://debuginfod.elfutils.org/",
 *						     &watch, &err);
 *
 *	fd = debuginfod_fetch(servers, id, id_size, &path, &err);	// below 0: not to be had
 *	debuginfod_close(servers);
 *
 * What is fetched is kept in the cache that gdb, perf and others share; what is there is not
 * fetched again.  libdebuginfod does the work and is loaded by debuginfod_open(), so that nobody
 * else pays for it.
 *
 * A server that sends nothing for DEBUGINFOD_TIMEOUT seconds (15 if that is not set) is given up:
 * from then on nothing is fetched any more.
 */
#ifndef OBJECT_DEBUGINFOD_H
#define OBJECT_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct debuginfod;

/* progress() is called about once a second, or more often; size is 0 as long as it is not known. */
struct debuginfod_watch {
	void (*begin)(void *context);
	enum debuginfod_verdict {
		DEBUGINFOD_GO_ON,
		DEBUGINFOD_SKIP,
		DEBUGINFOD_STOP, /* this file and all others */
	} (*progress)(void *context, uint64_t got, uint64_t size);
	void (*end)(void *context);
	void *context;
};

/* urls are separated by spaces.  Sets DEBUGINFOD_URLS: for a process with one thread.  NULL if
 * libdebuginfod is not installed. */
struct debuginfod *debuginfod_open(const char *urls, const struct debuginfod_watch *watch,
				   struct error *err);

/* A descriptor of the file in the cache, and its path for free(). */
int debuginfod_fetch(struct debuginfod *servers, const uint8_t *build_id, size_t size, char **path,
		     struct error *err);
void debuginfod_close(struct debuginfod *servers);

#endif
