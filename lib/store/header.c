/* SPDX-License-Identifier: MIT */
#include "store/header.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/schema.h"

/* https://sqlite.org/fileformat2.html, section 1.3: all numbers are big-endian. */
enum {
	AT_PAGE_SIZE = 16,
	AT_WRITE_VERSION = 18, /* 1: rollback journal, 2: WAL */
	AT_READ_VERSION = 19,
	AT_NR_PAGES = 28,
	AT_USER_VERSION = 60,
	AT_APPLICATION_ID = 68,
	HEADER_SIZE = 100,
};

static const char magic[16] = "SQLite format 3";

static uint32_t read_u32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

/* 65536 does not fit its two bytes and is written as 1. */
static uint32_t page_size(const unsigned char *bytes)
{
	uint32_t size = bytes[AT_PAGE_SIZE] << 8 | bytes[AT_PAGE_SIZE + 1];

	return size == 1 ? 65536 : size;
}

static void parse(struct header *header, const unsigned char *bytes)
{
	header->version = read_u32(bytes + AT_USER_VERSION);
	header->size_bytes = (uint64_t)read_u32(bytes + AT_NR_PAGES) * page_size(bytes);
	header->ours = read_u32(bytes + AT_APPLICATION_ID) == SCHEMA_APPLICATION_ID;
	header->logged = bytes[AT_WRITE_VERSION] != 1 || bytes[AT_READ_VERSION] != 1;
}

static int explain_short(ssize_t nr, const char *path, struct error *err)
{
	if (nr < 0)
		return error_errno(err, errno, "read %s", path);
	if (nr == 0)
		return error_set(err, ERR_FORMAT,
				 "%s is empty: its recording ended before anything was written",
				 path);
	return error_set(err, ERR_FORMAT, "%s is not a profile (%zd bytes)", path, nr);
}

int header_read(struct header *header, int fd, const char *path, struct error *err)
{
	unsigned char bytes[HEADER_SIZE];
	ssize_t nr = pread(fd, bytes, sizeof(bytes), 0);

	if (nr < HEADER_SIZE && (nr <= 0 || memcmp(bytes, magic, nr < 16 ? nr : 16) != 0))
		return explain_short(nr, path, err);
	if (nr < HEADER_SIZE)
		return error_set(err, ERR_FORMAT, "%s is truncated after %zd bytes", path, nr);
	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		return error_set(err, ERR_FORMAT, "%s is not a profile", path);

	parse(header, bytes);
	return 0;
}

int header_judge(const struct header *header, const char *path, struct error *err)
{
	if (!header->ours)
		return error_set(err, ERR_FORMAT,
				 "%s is not a profile (a database of another program)", path);
	if (!header->logged)
		return 0;

	error_set(err, ERR_FORMAT, "%s was switched to a write-ahead log by another program", path);
	return error_hint(err, "switch it back with: sqlite3 %s 'PRAGMA journal_mode = DELETE'",
			  path);
}

int header_check(int fd, const char *path, struct error *err)
{
	struct header header;
	int ret = header_read(&header, fd, path, err);

	if (!ret)
		ret = header_judge(&header, path, err);
	if (ret < 0)
		return ret;
	if (header.version == SCHEMA_VERSION)
		return 0;

	error_set(err, ERR_VERSION, "%s has format version %u; this cprof reads version %d", path,
		  header.version, SCHEMA_VERSION);
	return error_hint(
		err, header.version > SCHEMA_VERSION
			     ? "read it with the cprof that wrote it, or a newer one"
			     : "read it with the cprof that wrote it, or its views with sqlite3");
}

bool header_is_at(const char *path)
{
	struct header header = { 0 };
	struct stat status;
	int fd;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (header_read(&header, fd, path, NULL) < 0)
		header.ours = false;
	close(fd);
	return header.ours;
}
