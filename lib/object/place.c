/* SPDX-License-Identifier: MIT */
#include "object/place.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static bool is_at(const char *path, int fd)
{
	struct stat file, at;

	return fstat(fd, &file) == 0 && stat(path, &at) == 0 && file.st_dev == at.st_dev &&
	       file.st_ino == at.st_ino;
}

char *place_path(int fd)
{
	char link[64], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return NULL;
	path[length] = '\0';
	return is_at(path, fd) ? xstrdup(path) : NULL;
}

char *place_root(const char *path, const char *inner)
{
	size_t length = path ? strlen(path) : 0, inner_length = inner ? strlen(inner) : 0;

	if (!inner_length || inner[0] != '/' || length <= inner_length ||
	    strcmp(path + length - inner_length, inner) != 0)
		return NULL;
	return xstrndup(path, length - inner_length);
}
