/* SPDX-License-Identifier: MIT */
#include "object/debuginfo.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

/* What a file must be to be the right one: of this build id, or else with this checksum. */
struct proof {
	const uint8_t *build_id;
	size_t build_id_size; /* 0: there is none */
	uint32_t checksum;
	bool has_checksum;
};

struct search {
	struct debuginfo *found;
	const struct debuginfo_query *query;
	struct proof proof;
	char *mismatch; /* a file that had the right name and was another build's */
};

static char *hex(const uint8_t *bytes, size_t size)
{
	char *text = xmalloc(2 * size + 1), *end = text;

	*end = '\0';
	for (size_t i = 0; i < size; i++, end += 2)
		snprintf(end, 3, "%02x", bytes[i]);
	return text;
}

/* The CRC-32 of IEEE 802.3, as zlib's. */
static void crc32_table(uint32_t table[256])
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1) * 0xedb88320;
		table[byte] = crc;
	}
}

/* The checksum of .gnu_debuglink is over the whole file. */
static bool checksum_equals(int fd, uint32_t wanted)
{
	uint8_t bytes[1 << 15];
	uint32_t table[256], crc = ~UINT32_C(0);
	off_t at = 0;
	ssize_t n;

	crc32_table(table);
	for (; (n = pread(fd, bytes, sizeof(bytes), at)) > 0; at += n)
		for (ssize_t i = 0; i < n; i++)
			crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
	return n == 0 && ~crc == wanted;
}

static bool build_id_equals(int fd, const struct proof *proof)
{
	const void *id;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &id) : -1;
	bool equal = size > 0 && (size_t)size == proof->build_id_size &&
		     !memcmp(id, proof->build_id, proof->build_id_size);

	elf_end(elf);
	return equal;
}

static bool proven(int fd, const struct proof *proof)
{
	if (proof->build_id_size)
		return build_id_equals(fd, proof);
	return proof->has_checksum && checksum_equals(fd, proof->checksum);
}

/* A stripped file may name itself. */
static bool is_the_file(int fd, const char *path)
{
	struct stat candidate, file;

	return path && !fstat(fd, &candidate) && !stat(path, &file) &&
	       candidate.st_dev == file.st_dev && candidate.st_ino == file.st_ino;
}

/* Takes path over; true if it is the file. */
static bool try_path(struct search *search, char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	bool self = fd >= 0 && is_the_file(fd, search->query->path);

	if (fd >= 0 && !self && proven(fd, &search->proof)) {
		search->found->fd = fd;
		search->found->path = path;
		return true;
	}
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && !self) {
		free(search->mismatch);
		search->mismatch = path;
		return false;
	}
	free(path);
	return false;
}

static bool try_in_root(struct search *search, const char *argument,
			bool (*try_one)(struct search *search, const char *directory,
					const char *argument))
{
	const char *root = search->query->root;
	char *directory = root ? xasprintf("%s%s", root, DEBUGINFO_DIRECTORY) : NULL;
	bool found = directory && try_one(search, directory, argument);

	free(directory);
	return found;
}

/* Calls try_one() with each debug directory until it finds the file. */
static bool each_directory(struct search *search, const char *argument,
			   bool (*try_one)(struct search *search, const char *directory,
					   const char *argument))
{
	const char *const *directory = search->query->directories;

	for (; directory && *directory; directory++)
		if (try_one(search, *directory, argument))
			return true;
	return try_in_root(search, argument, try_one) ||
	       try_one(search, DEBUGINFO_DIRECTORY, argument);
}

static bool try_build_id(struct search *search, const char *directory, const char *id)
{
	return try_path(search, xasprintf("%s/.build-id/%.2s/%s.debug", directory, id, id + 2));
}

static bool find_by_build_id(struct search *search)
{
	if (search->proof.build_id_size < 2)
		return false;

	char *id = hex(search->proof.build_id, search->proof.build_id_size);
	bool found = each_directory(search, id, try_build_id);
	free(id);
	return found;
}

static bool try_below(struct search *search, const char *directory, const char *path)
{
	const char *root = search->query->root;

	if (root && !strncmp(path, root, strlen(root)))
		path += strlen(root);
	return try_path(search, xasprintf("%s%s%s", directory, *path == '/' ? "" : "/", path));
}

static char *folder_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
}

static bool find_by_link(struct search *search, const char *name)
{
	char *real = search->query->path ? realpath(search->query->path, NULL) : NULL;
	char *folder = folder_of(real ? real : search->query->path);
	char *whole = xasprintf("%s/%s", folder, name);
	bool found = try_path(search, xasprintf("%s/%s", folder, name)) ||
		     try_path(search, xasprintf("%s/.debug/%s", folder, name)) ||
		     each_directory(search, whole, try_below);

	free(whole);
	free(folder);
	free(real);
	return found;
}

static bool fetch(struct search *search)
{
	const struct proof *proof = &search->proof;
	struct error err = ERROR_INIT;
	char *path;

	if (!search->query->servers || !proof->build_id_size)
		return false;
	int fd = debuginfod_fetch(search->query->servers, proof->build_id, proof->build_id_size,
				  &path, &err);
	if (fd < 0) {
		search->found->fetch_reason = xstrdup(err.message);
		return false;
	}
	close(fd);
	return try_path(search, path);
}

static char *explain(const struct search *search, const char *what)
{
	return search->mismatch ? xasprintf("%s is of another build", search->mismatch)
				: xasprintf("no %s installed", what);
}

static bool finish(struct search *search, bool found, const char *what)
{
	if (!found) {
		search->found->fd = -1;
		search->found->reason = explain(search, what);
		search->found->mismatch = search->mismatch != NULL;
	}
	free(search->mismatch);
	return found;
}

bool debuginfo_find(struct debuginfo *found, const struct debuginfo_query *query)
{
	struct search search = { .found = found, .query = query };
	const void *id;
	ssize_t id_size = dwelf_elf_gnu_build_id(query->elf, &id);
	GElf_Word checksum;
	const char *link = dwelf_elf_gnu_debuglink(query->elf, &checksum);

	if (id_size > 0) {
		search.proof.build_id = id;
		search.proof.build_id_size = (size_t)id_size;
	}
	if (link) {
		search.proof.checksum = checksum;
		search.proof.has_checksum = true;
	}
	bool got = find_by_build_id(&search) || (link && find_by_link(&search, link)) ||
		   fetch(&search);
	return finish(&search, got, "debug file");
}

bool debuginfo_find_shared(struct debuginfo *found, const struct debuginfo_query *query,
			   const char *name, const void *build_id, size_t build_id_size)
{
	struct search search = {
		.found = found,
		.query = query,
		.proof = { .build_id = build_id, .build_id_size = build_id_size },
	};
	bool got = find_by_build_id(&search);

	if (!got && *name == '/')
		got = try_path(&search, xstrdup(name));
	else if (!got)
		got = find_by_link(&search, name);
	got = got || fetch(&search);
	return finish(&search, got, "shared (dwz) debug file");
}

void debuginfo_release(struct debuginfo *found)
{
	if (found->path)
		close(found->fd);
	free(found->path);
	free(found->reason);
	free(found->fetch_reason);
	*found = (struct debuginfo){ .fd = -1 };
}
