/* SPDX-License-Identifier: MIT */
/*
 * paths - names of source files, made whole with the directory they were compiled in.
 *
 *	struct paths paths = { 0 };
 *
 *	paths_join(&paths, "/build/app", "../src/a.c");	// "/build/app/../src/a.c"
 *	paths_join(&paths, "/build/app", "/usr/include/stdio.h");	// as it is
 *	paths_release(&paths);
 *
 * Meant for strings that stay where they are: the answer for a file is remembered by its pointer.
 */
#ifndef SYMBOLIZE_PATHS_H
#define SYMBOLIZE_PATHS_H

#include "base/arena.h"
#include "base/map.h"

struct paths {
	struct map joined;
	struct arena text;
};

/* Either may be NULL; without file so is the answer. */
const char *paths_join(struct paths *paths, const char *directory, const char *file);
void paths_release(struct paths *paths);

#endif
