/* SPDX-License-Identifier: MIT */
#include "store/input.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/database.h"
#include "store/header.h"
#include "store/place.h"
#include "store/schema.h"
#include "store/snapshot.h"

/* Steps of SQLite's machine: about one per byte of a row.  Only a file that was made to keep us
 * busy needs more. */
#define STEPS_AT_LEAST 10000000
#define STEPS_PER_BYTE 8
#define STEPS_A_CALL 10000

static int spend_steps(void *context)
{
	struct input *input = context;

	input->steps_left -= STEPS_A_CALL;
	return input->steps_left < 0;
}

void input_limit(struct input *input)
{
	input->steps_left = STEPS_AT_LEAST + STEPS_PER_BYTE * input->size_bytes;
	if (input->db)
		sqlite3_progress_handler(input->db, STEPS_A_CALL, spend_steps, input);
}

static int explain_open(const char *path, struct error *err)
{
	if (errno != ENOENT)
		return error_errno(err, errno, "open %s", path);
	error_errno(err, ENOENT, "open %s", path);
	return error_hint(err, "record one with: cprof record PROGRAM");
}

static int explain_beginning(const char *path, struct error *err)
{
	error_set(err, ERR_BUSY, "%s is empty: its recording has only just begun", path);
	return error_hint(err, "try again in a second");
}

static int check_file(struct input *input, int fd, const char *path, struct error *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_errno(err, errno, "stat %s", path);
	if (S_ISDIR(status.st_mode))
		return error_errno(err, EISDIR, "open %s", path);
	if (!S_ISREG(status.st_mode))
		return error_set(err, ERR_FORMAT, "%s is not a regular file", path);

	input->in_progress = place_is_held(fd);
	if (input->in_progress && !status.st_size)
		return explain_beginning(path, err);
	return header_check(fd, path, err);
}

/* Before SQLite opens it: closing any descriptor of a file drops the process's locks on it. */
static int check_before(struct input *input, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int ret;

	if (fd < 0)
		return explain_open(path, err);
	ret = check_file(input, fd, path, err);
	close(fd);
	return ret;
}

/* Takes the read lock, by which SQLite finds out whether there is something to roll back. */
static int begin(struct input *input)
{
	input_limit(input);
	return sqlite3_exec(input->db, "BEGIN; SELECT count(*) FROM sqlite_master", NULL, NULL,
			    NULL);
}

static int begin_in_copy(struct input *input, const char *path, struct error *err)
{
	int ret;

	sqlite3_close(input->db);
	input->db = NULL;
	ret = snapshot_open(&input->db, path, err);
	if (!ret && begin(input) != SQLITE_OK)
		ret = database_error(input->db, path, "read", err);
	return ret;
}

static int open_and_begin(struct input *input, const char *path, struct error *err)
{
	int ret = check_before(input, path, err);

	if (!ret)
		ret = database_open(&input->db, path, SQLITE_OPEN_READONLY, err);
	if (ret < 0)
		return ret;
	if (begin(input) == SQLITE_OK)
		return 0;
	if (sqlite3_extended_errcode(input->db) == SQLITE_READONLY_ROLLBACK)
		return begin_in_copy(input, path, err);
	return database_error(input->db, path, "read", err);
}

static int read_size(struct input *input, const char *path, struct error *err)
{
	static const char sql[] = "SELECT page_count * page_size"
				  " FROM pragma_page_count, pragma_page_size";
	sqlite3_stmt *statement = NULL;

	sqlite3_prepare_v2(input->db, sql, -1, &statement, NULL);
	if (sqlite3_step(statement) == SQLITE_ROW)
		input->size_bytes = sqlite3_column_int64(statement, 0);
	return sqlite3_finalize(statement) == SQLITE_OK && statement
		       ? 0
		       : database_error(input->db, path, "read", err);
}

int input_open(struct input *input, const char *path, struct error *err)
{
	int ret = open_and_begin(input, path, err);

	if (!ret)
		ret = schema_check(input->db, path, err);
	if (!ret)
		ret = read_size(input, path, err);
	input_limit(input);
	return ret;
}

void input_end(struct input *input)
{
	sqlite3_exec(input->db, "COMMIT", NULL, NULL, NULL);
}

void input_close(struct input *input)
{
	sqlite3_close(input->db);
	*input = (struct input){ 0 };
}

static bool is_truncated(int fd, const char *path, off_t *size, struct header *header)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || header_read(header, fd, path, NULL) < 0)
		return false;
	*size = status.st_size;
	return header->ours && header->size_bytes > (uint64_t)status.st_size;
}

int input_explain(const char *path, int ret, struct error *err)
{
	int fd = ret == ERR_FORMAT ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	struct header header;
	off_t size;

	if (fd < 0)
		return ret;
	if (is_truncated(fd, path, &size, &header))
		error_set(err, ERR_FORMAT, "%s is truncated: %lld of %llu bytes", path,
			  (long long)size, (unsigned long long)header.size_bytes);
	close(fd);
	return ret;
}
