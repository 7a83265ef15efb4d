/* SPDX-License-Identifier: MIT */
#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define MAX_VALUE_BYTES (16 << 20)
#define BUSY_TIMEOUT_MS 10000
#define PATH_BYTES_MAX 512 /* what SQLite is built for on Unix */

static int distrust(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	return sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
}

/* So that no path is taken for ":memory:" or a URI. */
static char *plain_path(const char *path)
{
	return xasprintf("%s%s", path[0] == '/' ? "" : "./", path);
}

int database_open(sqlite3 **db, const char *path, int flags, struct error *err)
{
	char *plain = plain_path(path);
	int ret = sqlite3_open_v2(plain, db, flags | SQLITE_OPEN_NOMUTEX, NULL);

	free(plain);
	if (ret == SQLITE_OK)
		ret = sqlite3_busy_timeout(*db, BUSY_TIMEOUT_MS);
	if (ret == SQLITE_OK)
		ret = distrust(*db);
	if (ret == SQLITE_OK)
		return 0;

	ret = database_error(*db, path, "open", err);
	sqlite3_close(*db);
	*db = NULL;
	return ret;
}

/* sqlite3_system_errno() is that of the last call, which may have been part of a rollback. */
static int errno_of(sqlite3 *db)
{
	int errno_value = 0;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &errno_value);
	return errno_value ? errno_value : sqlite3_system_errno(db);
}

/* SQLite only says "disk I/O error". */
static int explain_io(sqlite3 *db, const char *path, const char *doing, struct error *err)
{
	int errno_value = errno_of(db);

	if (errno_value)
		return error_errno(err, errno_value, "%s %s", doing, path);
	return error_set(err, -EIO, "%s %s: %s", doing, path, sqlite3_errmsg(db));
}

/* With that of its journal, from the root on. */
static size_t bytes_of_path(const char *path)
{
	char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
	size_t bytes = (folder ? strlen(folder) + 1 : 0) + strlen(path) + strlen("-journal");

	free(folder);
	return bytes;
}

static int explain_open(sqlite3 *db, const char *path, const char *doing, struct error *err)
{
	if (bytes_of_path(path) < PATH_BYTES_MAX)
		return explain_io(db, path, doing, err);
	error_set(err, -ENAMETOOLONG,
		  "%s %s: its whole path is longer than SQLite can take (%d bytes)", doing, path,
		  PATH_BYTES_MAX);
	return error_hint(err, "have it in another folder (-o)");
}

static int explain_moved(const char *path, const char *doing, struct error *err)
{
	error_set(err, -ENOENT, "%s %s: it was removed or renamed meanwhile", doing, path);
	return error_hint(err, "leave it where it is until the recording has ended");
}

int database_error(sqlite3 *db, const char *path, const char *doing, struct error *err)
{
	switch (sqlite3_extended_errcode(db)) {
	case SQLITE_READONLY_DBMOVED:
		return explain_moved(path, doing, err);
	case SQLITE_READONLY_DIRECTORY: /* its journal comes and goes there */
		return error_errno(err, EACCES, "%s %s: its folder", doing, path);
	}
	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_FULL:
		return error_errno(err, ENOSPC, "%s %s", doing, path);
	case SQLITE_BUSY:
		error_set(err, ERR_BUSY, "%s %s: another program has locked it", doing, path);
		return error_hint(err, "close what has the file open");
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_INTERRUPT:
	case SQLITE_TOOBIG:
	case SQLITE_ERROR:
		return error_set(err, ERR_FORMAT, "%s is damaged (%s)", path, sqlite3_errmsg(db));
	case SQLITE_CANTOPEN:
		return explain_open(db, path, doing, err);
	case SQLITE_IOERR:
	case SQLITE_PERM:
	case SQLITE_READONLY:
		return explain_io(db, path, doing, err);
	default:
		return error_set(err, ERR_INTERNAL, "%s %s: %s", doing, path, sqlite3_errmsg(db));
	}
}

char *database_journal(const char *path)
{
	return xasprintf("%s-journal", path);
}

/* https://sqlite.org/fileformat2.html, section 3: a journal begins with this, and one that belongs
 * to a transaction over several files ends with it. */
static const unsigned char journal_magic[8] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };

static bool has_magic(int fd, off_t at)
{
	unsigned char bytes[sizeof(journal_magic)];

	return at >= 0 && pread(fd, bytes, sizeof(bytes), at) == sizeof(bytes) &&
	       !memcmp(bytes, journal_magic, sizeof(bytes));
}

int database_journal_is_hot(const char *journal, struct error *err)
{
	int fd = open(journal, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	int ret = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "open %s", journal);

	if (fstat(fd, &status) < 0)
		ret = error_errno(err, errno, "stat %s", journal);
	else if (!S_ISREG(status.st_mode))
		ret = error_set(err, ERR_FORMAT, "%s is not a file", journal);
	else if (has_magic(fd, status.st_size - (off_t)sizeof(journal_magic)))
		ret = error_set(err, ERR_FORMAT, "%s was not made by cprof", journal);
	else
		ret = has_magic(fd, 0);
	close(fd);
	return ret;
}
