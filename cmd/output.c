/* SPDX-License-Identifier: MIT */
#include "cmd/output.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

FILE *output_open(const char *path, struct error *err)
{
	FILE *out = strcmp(path, "-") != 0 ? fopen(path, "we") : stdout;

	if (!out)
		error_errno(err, errno, "write %s", path);
	return out;
}

int output_close(FILE *out, const char *path, struct error *err)
{
	bool failed = ferror(out);

	if (out == stderr || out == stdout)
		return 0;
	errno = 0;
	if (!fclose(out) && !failed)
		return 0;
	return error_errno(err, errno ? errno : EIO, "write %s", path);
}
