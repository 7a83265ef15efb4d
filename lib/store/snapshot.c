/* SPDX-License-Identifier: MIT */
#include "store/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/database.h"
#include "store/place.h"

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

/* The journal of a file that was read whole is of no use. */
static int copy_both(const char *copy, const char *path, struct error *err)
{
	char *journal = database_journal(path), *copied_journal = database_journal(copy);
	int hot = database_journal_is_hot(journal, err);
	int ret = hot < 0 ? hot : copy_file(copy, path, err);

	if (!ret && hot)
		ret = copy_file(copied_journal, journal, err);
	free(journal);
	free(copied_journal);
	return ret;
}

static bool is_being_recorded(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool held = fd >= 0 && place_is_held(fd);

	if (fd >= 0)
		close(fd);
	return held;
}

/* As it is between two commits. */
static int back_up(const char *copy, const char *path, struct error *err)
{
	sqlite3 *from = NULL, *to = NULL;
	sqlite3_backup *backup;
	int ret = database_open(&from, path, SQLITE_OPEN_READONLY, err);

	if (!ret)
		ret = database_open(&to, copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, err);
	if (!ret) {
		backup = sqlite3_backup_init(to, "main", from, "main");
		if (backup)
			sqlite3_backup_step(backup, -1);
		if (!backup || sqlite3_backup_finish(backup) != SQLITE_OK)
			ret = database_error(to, path, "copy", err);
	}
	sqlite3_close(to);
	sqlite3_close(from);
	return ret;
}

int snapshot_make(char **copy, const char *path, struct error *err)
{
	const char *base = getenv("TMPDIR");
	char *folder = xasprintf("%s/cprof-XXXXXX", base && *base ? base : "/tmp");
	int ret = 0;

	*copy = NULL;
	if (!mkdtemp(folder)) {
		ret = error_errno(err, errno, "create %s", folder);
		goto out;
	}
	*copy = xasprintf("%s/profile", folder);
	ret = is_being_recorded(path) ? back_up(*copy, path, err) : copy_both(*copy, path, err);
	if (ret < 0) {
		snapshot_remove(*copy);
		*copy = NULL;
	}
out:
	free(folder);
	return ret;
}

void snapshot_remove(char *copy)
{
	if (!copy)
		return;

	char *journal = database_journal(copy);

	unlink(copy);
	unlink(journal);
	*strrchr(copy, '/') = '\0';
	rmdir(copy);
	free(journal);
	free(copy);
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
	char *copy;
	int ret = snapshot_make(&copy, path, err);

	if (!ret)
		ret = open_copy(db, copy, path, err);
	snapshot_remove(copy);
	return ret;
}
