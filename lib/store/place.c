/* SPDX-License-Identifier: MIT */
#include "store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "store/database.h"
#include "store/header.h"

/* SQLite locks bytes 0x40000000 to 0x400001ff. */
#define LOCKED_BYTE 0x40001000

static int hint_other_file(struct error *err)
{
	if (err && err->hint[0])
		return err->code;
	return error_hint(err, "choose another file with -o FILE");
}

static int open_file(const char *path, int flags, struct error *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags, 0600);

	if (fd >= 0)
		return fd;
	error_errno(err, errno, "write %s", path);
	return hint_other_file(err);
}

static int check_regular(int fd, const char *path, struct stat *status, struct error *err)
{
	if (fstat(fd, status) < 0)
		return error_errno(err, errno, "stat %s", path);
	if (S_ISREG(status->st_mode))
		return 0;
	error_set(err, ERR_FORMAT, "%s is not a regular file", path);
	return hint_other_file(err);
}

static const struct flock lock_range = {
	.l_type = F_WRLCK,
	.l_whence = SEEK_SET,
	.l_start = LOCKED_BYTE,
	.l_len = 1,
};

/* A file system without locks is no reason not to record. */
static int lock_file(int fd, const char *path, struct error *err)
{
	struct flock range = lock_range;

	if (!fcntl(fd, F_OFD_SETLK, &range))
		return 0;
	if (errno == EAGAIN || errno == EACCES)
		return error_set(err, ERR_BUSY, "%s is being recorded by another cprof", path);
	log_debug(LOG_STORE, "%s: not locked: errno %d", path, errno);
	return 0;
}

/* Opens, locks, and makes sure that what was locked is still what is there. */
static int open_locked(const char *path, int flags, struct stat *status, struct error *err)
{
	for (;;) {
		int fd = open_file(path, flags, err);
		int ret = fd < 0 ? fd : check_regular(fd, path, status, err);
		struct stat there;

		if (!ret)
			ret = lock_file(fd, path, err);
		if (!ret && !stat(path, &there) && there.st_ino == status->st_ino &&
		    there.st_dev == status->st_dev)
			return fd;
		if (fd >= 0)
			close(fd);
		if (ret)
			return ret;
	}
}

/* What a recorder that was killed within a commit left is undone by whoever reads it next. */
static int roll_back(const char *path, struct error *err)
{
	char *journal = database_journal(path);
	int ret = database_journal_is_hot(journal, err);
	sqlite3 *db;

	free(journal);
	if (ret <= 0)
		return ret;

	ret = database_open(&db, path, SQLITE_OPEN_READWRITE, err);
	if (ret < 0)
		return ret;
	if (sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) != SQLITE_OK)
		log_debug(LOG_STORE, "%s: not rolled back: %s", path, sqlite3_errmsg(db));
	sqlite3_close(db);
	return 0;
}

/* A journal that could not be rolled back goes with its file; a stale one must not be taken for
 * the next file's. */
static int move(const char *from, const char *to, struct error *err)
{
	char *journal = database_journal(from), *new_journal = database_journal(to);
	int ret = 0;

	if (rename(from, to) < 0)
		ret = error_errno(err, errno, "rename %s to %s", from, to);
	else if (rename(journal, new_journal) < 0)
		unlink(new_journal);
	free(journal);
	free(new_journal);
	return ret;
}

static int check_replaceable(int fd, const char *path, struct error *err)
{
	struct header header;
	int ret = header_read(&header, fd, path, err);

	if (!ret)
		ret = header_judge(&header, path, err);
	if (!ret)
		return 0;
	error_prefix(err, "not overwritten");
	return hint_other_file(err);
}

static int move_away(struct place *place, const char *path, struct error *err)
{
	char *old = xasprintf("%s.old", path);
	int ret = move(path, old, err);

	if (ret < 0) {
		free(old);
		return hint_other_file(err);
	}
	free(place->old);
	place->old = old;
	return 0;
}

/* 1: the file is empty now; 0: it was moved away. */
static int make_room(struct place *place, int fd, const char *path, struct error *err)
{
	struct stat status;
	int ret = check_replaceable(fd, path, err);

	if (!ret)
		ret = roll_back(path, err);
	if (!ret)
		ret = check_regular(fd, path, &status, err);
	if (!ret && !status.st_size)
		return 1;
	return ret ? ret : move_away(place, path, err);
}

/* Under sudo the profile belongs to the person, not to root. */
static void give_to_caller(int fd)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");

	if (geteuid() != 0 || !uid || !gid)
		return;
	if (fchown(fd, strtoul(uid, NULL, 10), strtoul(gid, NULL, 10)) < 0)
		log_debug(LOG_STORE, "profile stays root's: errno %d", errno);
}

static int claim(struct place *place, char *path, struct error *err)
{
	struct stat status;
	int empty = 0;

	while (!empty) {
		int fd = open_locked(path, O_CREAT, &status, err);

		if (fd < 0)
			return fd;
		empty = status.st_size ? make_room(place, fd, path, err) : 1;
		place->fd = fd;
		if (empty <= 0)
			close(fd);
		if (empty < 0)
			return empty;
	}

	fchmod(place->fd, 0600);
	give_to_caller(place->fd);
	place->path = path;
	return 0;
}

int place_claim(struct place *place, const char *path, struct error *err)
{
	char *name = xstrdup(path);
	int ret;

	*place = (struct place){ 0 };
	ret = claim(place, name, err);

	if (ret == ERR_BUSY) {
		free(name);
		name = xasprintf("%s.%d", path, (int)getpid());
		ret = claim(place, name, err);
	}
	if (ret < 0) {
		if (place->old)
			move(place->old, name, NULL);
		free(name);
		free(place->old);
		*place = (struct place){ 0 };
	}
	return ret;
}

int place_hold(struct place *place, const char *path, struct error *err)
{
	struct stat status;
	int fd = open_locked(path, 0, &status, err);
	int ret = fd < 0 ? fd : header_check(fd, path, err);

	if (!ret)
		ret = roll_back(path, err);
	if (ret < 0) {
		if (fd >= 0)
			close(fd);
		return ret;
	}
	*place = (struct place){ .path = xstrdup(path), .fd = fd };
	return 0;
}

void place_release(struct place *place)
{
	if (!place->path)
		return;
	close(place->fd);
	free(place->path);
	free(place->old);
	*place = (struct place){ 0 };
}

void place_discard(struct place *place)
{
	if (place->path)
		unlink(place->path);
	if (place->path && place->old)
		move(place->old, place->path, NULL);
	place_release(place);
}

bool place_is_held(int fd)
{
	struct flock range = lock_range;

	return !fcntl(fd, F_OFD_GETLK, &range) && range.l_type != F_UNLCK;
}
