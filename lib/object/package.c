/* SPDX-License-Identifier: MIT */
#include "object/package.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define DPKG_INFO "/var/lib/dpkg/info"

enum { LIST_SIZE_MAX = 64 << 20 };

/* FNV-1a. */
static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* The same file, whether the package says /lib or /usr/lib. */
static uint64_t path_hash(const char *path, size_t length)
{
	if (length > 5 && !memcmp(path, "/usr/", 5))
		return hash_of(path + 4, length - 4);
	return hash_of(path, length);
}

/* Most paths are documentation and the like. */
static bool may_have_code(const char *path, size_t length)
{
	return !memmem(path, length, "/share/", 7);
}

static void add_paths(struct packages *packages, const char *text, size_t size, uint32_t name)
{
	for (const char *end = text + size, *line = text, *newline; line < end;
	     line = newline + 1) {
		newline = memchr(line, '\n', (size_t)(end - line));
		if (!newline)
			break;
		size_t length = (size_t)(newline - line);
		if (may_have_code(line, length))
			map_set(&packages->by_path, path_hash(line, length), name);
	}
}

static char *read_whole(int folder, const char *name, size_t *size)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text = NULL;

	*size = 0;
	if (fd >= 0 && !fstat(fd, &st) && st.st_size < LIST_SIZE_MAX) {
		text = xmalloc((size_t)st.st_size + 1);
		ssize_t got = read(fd, text, (size_t)st.st_size);
		*size = got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* "libsqlite3-0:amd64.list" is of libsqlite3-0. */
static void add_list(struct packages *packages, int folder, const char *file)
{
	const char *suffix = strrchr(file, '.');
	size_t size;

	if (!suffix || strcmp(suffix, ".list") != 0)
		return;
	char *text = read_whole(folder, file, &size);
	char *name = xstrndup(file, strcspn(file, ":") < (size_t)(suffix - file)
					    ? strcspn(file, ":")
					    : (size_t)(suffix - file));
	add_paths(packages, text, size, intern_add(&packages->names, name));
	free(name);
	free(text);
}

static void read_lists(struct packages *packages)
{
	DIR *folder = opendir(DPKG_INFO);
	const struct dirent *entry;

	packages->read = true;
	while (folder && (entry = readdir(folder)))
		add_list(packages, dirfd(folder), entry->d_name);
	if (folder)
		closedir(folder);
}

const char *packages_find(struct packages *packages, const char *path)
{
	if (!packages->read)
		read_lists(packages);

	const uint64_t *name = map_find(&packages->by_path, path_hash(path, strlen(path)));
	return name ? intern_text(&packages->names, (uint32_t)*name) : NULL;
}

void packages_release(struct packages *packages)
{
	map_release(&packages->by_path);
	intern_release(&packages->names);
	*packages = (struct packages){ 0 };
}
