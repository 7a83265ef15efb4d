/* SPDX-License-Identifier: MIT */
#include "object/package.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"

#define DPKG_INFO "/var/lib/dpkg/info"

enum { LIST_READ = 1 << 16, LIST_SIZE_MAX = 64 << 20 };

static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = length, word = 0;

	for (; length >= sizeof(word); text += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = map_hash(hash ^ word);
	}
	word = 0;
	memcpy(&word, text, length);
	return map_hash(hash ^ word);
}

/* The same file, whether the package says /lib or /usr/lib. */
static uint64_t path_hash(const char *path, size_t length)
{
	if (length > 5 && !memcmp(path, "/usr/", 5))
		return hash_of(path + 4, length - 4);
	return hash_of(path, length);
}

static void add_paths(struct packages *packages, const char *text, size_t size, uint32_t name)
{
	for (const char *end = text + size, *line = text, *newline; line < end;
	     line = newline + 1) {
		newline = memchr(line, '\n', (size_t)(end - line));
		if (!newline)
			break;
		uint64_t *wanted =
			map_find(&packages->by_path, path_hash(line, (size_t)(newline - line)));
		if (wanted)
			*wanted = name + 1;
	}
}

/* Of one list, with room for the next. */
struct list {
	VEC(char) text;
};

static void read_whole(struct list *list, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	list->text.nr = 0;
	do {
		list->text.nr += (size_t)got;
		vec_reserve(&list->text, list->text.nr + LIST_READ);
		got = read(fd, list->text.at + list->text.nr, LIST_READ);
	} while (got > 0 && list->text.nr < LIST_SIZE_MAX);
	if (fd >= 0)
		close(fd);
}

/* "libsqlite3-0:amd64.list" is of libsqlite3-0. */
static char *package_of(const char *file, const char *suffix)
{
	size_t length = strcspn(file, ":");

	return xstrndup(file, length < (size_t)(suffix - file) ? length : (size_t)(suffix - file));
}

static void add_list(struct packages *packages, struct list *list, int folder, const char *file)
{
	const char *suffix = strrchr(file, '.');

	if (!suffix || strcmp(suffix, ".list") != 0)
		return;
	char *name = package_of(file, suffix);

	read_whole(list, folder, file);
	add_paths(packages, list->text.at, list->text.nr, intern_add(&packages->names, name));
	free(name);
}

static void read_lists(struct packages *packages)
{
	DIR *folder = opendir(DPKG_INFO);
	const struct dirent *entry;
	struct list list = { 0 };

	packages->read = true;
	while (folder && (entry = readdir(folder)))
		add_list(packages, &list, dirfd(folder), entry->d_name);
	vec_free(&list.text);
	if (folder)
		closedir(folder);
}

void packages_want(struct packages *packages, const char *path)
{
	map_add(&packages->by_path, path_hash(path, strlen(path)), NULL);
}

const char *packages_find(struct packages *packages, const char *path)
{
	if (!packages->read)
		read_lists(packages);

	const uint64_t *name = map_find(&packages->by_path, path_hash(path, strlen(path)));
	return name && *name ? intern_text(&packages->names, (uint32_t)*name - 1) : NULL;
}

void packages_release(struct packages *packages)
{
	map_release(&packages->by_path);
	intern_release(&packages->names);
	*packages = (struct packages){ 0 };
}
