/* SPDX-License-Identifier: MIT */
#include "store/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/database.h"

static int copy_bytes(int to, int from)
{
	ssize_t nr;

	do
		nr = sendfile(to, from, NULL, 1 << 30);
	while (nr > 0);
	return nr < 0 ? -errno : 0;
}

static int copy_file(const char *to_path, const char *from_path, struct error *err)
{
	int from = open(from_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (from < 0)
		return error_errno(err, errno, "open %s", from_path);

	int to = open(to_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ret = to < 0 ? -errno : copy_bytes(to, from);

	if (ret < 0)
		ret = error_errno(err, -ret, "copy %s to %s", from_path, to_path);
	if (to >= 0)
		close(to);
	close(from);
	return ret;
}

static int copy_both(const char *copy, const char *path, struct error *err)
{
	char *journal = database_journal(path), *copied_journal = database_journal(copy);
	int ret = database_journal_is_hot(journal, err);

	if (ret >= 0)
		ret = copy_file(copy, path, err);
	if (!ret)
		ret = copy_file(copied_journal, journal, err);
	free(journal);
	free(copied_journal);
	return ret;
}

static void remove_copy(const char *folder, const char *copy)
{
	char *journal = database_journal(copy);

	unlink(copy);
	unlink(journal);
	rmdir(folder);
	free(journal);
}

/* The first read rolls back. */
static int open_copy(sqlite3 **db, const char *copy, const char *path, struct error *err)
{
	int ret = database_open(db, copy, SQLITE_OPEN_READWRITE, err);

	if (ret < 0)
		return ret;
	if (sqlite3_exec(*db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) == SQLITE_OK)
		return 0;

	ret = database_error(*db, path, "roll back a copy of", err);
	sqlite3_close(*db);
	*db = NULL;
	return ret;
}

int snapshot_open(sqlite3 **db, const char *path, struct error *err)
{
	const char *base = getenv("TMPDIR");
	char *folder = xasprintf("%s/cprof-XXXXXX", base && *base ? base : "/tmp");
	char *copy = NULL;
	int ret = 0;

	if (!mkdtemp(folder)) {
		ret = error_errno(err, errno, "create %s", folder);
		goto out;
	}
	copy = xasprintf("%s/profile", folder);
	ret = copy_both(copy, path, err);
	if (!ret)
		ret = open_copy(db, copy, path, err);
	remove_copy(folder, copy);
out:
	free(folder);
	free(copy);
	return ret;
}
