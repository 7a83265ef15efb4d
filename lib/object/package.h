/* SPDX-License-Identifier: MIT */
/*
 * package - which package of the distribution a file came with.
 *
 *	struct packages packages = { 0 };
 *
 *	packages_want(&packages, "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6");
 *	packages_find(&packages, "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6");
 *							// "libsqlite3-0"; NULL: of none
 *	packages_release(&packages);
 *
 * Knows what dpkg knows.  The first question goes through all of dpkg's lists of files, some 10 ms,
 * and remembers of them what is wanted by then.
 */
#ifndef OBJECT_PACKAGE_H
#define OBJECT_PACKAGE_H

#include <stdbool.h>

#include "base/intern.h"
#include "base/map.h"

struct packages {
	bool read;
	struct map by_path; /* hash of a path that is wanted -> id of the name + 1 */
	struct intern names;
};

/* Before the first question. */
void packages_want(struct packages *packages, const char *path);
/* Valid until release. */
const char *packages_find(struct packages *packages, const char *path);
void packages_release(struct packages *packages);

#endif
