/* SPDX-License-Identifier: MIT */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* No table for people is larger.  Given to stdio, which on a terminal would write line by line. */
static char errors_buffer[64 << 10];

FILE *output_open(const char *path, struct error *err)
{
	FILE *out = strcmp(path, "-") != 0 ? fopen(path, "we") : stdout;

	if (!out)
		error_errno(err, errno, "write %s", path);
	return out;
}

FILE *output_errors(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!out) {
		if (fd >= 0)
			close(fd);
		return stderr;
	}
	setvbuf(out, errors_buffer, _IOFBF, sizeof(errors_buffer));
	return out;
}

int output_close(FILE *out, const char *path, struct error *err)
{
	bool failed = ferror(out);

	if (out == stderr || out == stdout)
		return 0;
	errno = 0;
	failed |= fclose(out) != 0;
	if (!failed || !path)
		return 0;
	return error_errno(err, errno ? errno : EIO, "write %s", path);
}
