/* SPDX-License-Identifier: MIT */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "report/report.h"

/* No table for people is larger.  Given to stdio, which on a terminal would write line by line. */
static char errors_buffer[64 << 10];

static int open_file(const char *path, bool *is_new)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	*is_new = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	return fd;
}

int output_open(struct output *output, const char *path, struct error *err)
{
	int fd;

	*output = (struct output){ .file = stdout, .path = path };
	if (!strcmp(path, "-"))
		return 0;
	if (report_is_profile(path)) {
		error_set(err, ERR_USAGE, "not overwritten: %s is a profile", path);
		return error_hint(err, "choose another file with -o FILE");
	}
	fd = open_file(path, &output->is_new);
	output->file = fd >= 0 ? fdopen(fd, "w") : NULL;
	return output->file ? 0 : error_errno(err, errno, "write %s", path);
}

void output_errors(struct output *output)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	*output = (struct output){ .file = out ?: stderr };
	if (out)
		setvbuf(out, errors_buffer, _IOFBF, sizeof(errors_buffer));
	else if (fd >= 0)
		close(fd);
}

static bool is_ours(const struct output *output)
{
	return output->file != stderr && output->file != stdout;
}

void output_begin(struct output *output)
{
	bool is_kept = output->path && is_ours(output) && !output->has_begun && !output->is_new;

	/* Pipes and devices have nothing that could go (EINVAL). */
	if (is_kept && ftruncate(fileno(output->file), 0) < 0 && errno != EINVAL)
		output->failed_errno = errno;
	output->has_begun = true;
}

int output_close(struct output *output, struct error *err)
{
	const char *path = output->path;
	bool failed;

	if (!is_ours(output))
		return 0;
	if (output->is_new && !output->has_begun)
		unlink(path);
	failed = ferror(output->file) || output->failed_errno;
	errno = 0;
	failed |= fclose(output->file) != 0;
	errno = output->failed_errno ?: errno;
	if (!failed || !path)
		return 0;
	return error_errno(err, errno ? errno : EIO, "write %s", path);
}
