/* SPDX-License-Identifier: MIT */
/*
 * path - parts of paths of files.
 *
 *	path_name("/usr/lib/libc.so.6");	// "libc.so.6"
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <string.h>

/* What is behind the last slash, in the path itself; the whole path if nothing is. */
static inline const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

#endif
