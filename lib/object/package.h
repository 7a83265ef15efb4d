/* SPDX-License-Identifier: MIT */
/*
 * package - which package of the distribution a file came with.
 *
 *	struct packages packages = { 0 };
 *
 *	packages_find(&packages, "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6");
 *							// "libsqlite3-0"; NULL: of none
 *	packages_release(&packages);
 *
 * Knows what dpkg knows.  The first question reads all of dpkg's lists of files, a few 10 ms.
 */
#ifndef OBJECT_PACKAGE_H
#define OBJECT_PACKAGE_H

#include <stdbool.h>

#include "base/intern.h"
#include "base/map.h"

struct packages {
	bool read;
	struct map by_path; /* hash of the path -> id of the name */
	struct intern names;
};

/* Valid until release. */
const char *packages_find(struct packages *packages, const char *path);
void packages_release(struct packages *packages);

#endif
