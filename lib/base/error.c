/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void append_reason(struct error *err, int errno_value)
{
	char buffer[128];
	const char *reason = strerror_r(errno_value, buffer, sizeof(buffer));
	size_t length = strlen(err->message);

	snprintf(err->message + length, sizeof(err->message) - length, ": %s", reason);
}

/* What lifts a limit; "": nothing that the number alone tells. */
static const char *remedy(int errno_value)
{
	switch (errno_value) {
	case EMFILE:
		return "raise the limit of open files: ulimit -n 4096";
	case ENFILE:
		return "all open files of the machine are in use: sysctl fs.file-max";
	case EFBIG:
		return "raise the limit of a file's size: ulimit -f unlimited";
	case EAGAIN:
		return "raise the limits of processes (ulimit -u) and of memory (ulimit -v)";
	case ENOMEM:
		return "raise the limit of memory (ulimit -v), or free some";
	default:
		return "";
	}
}

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;

	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	err->hint[0] = '\0';
	err->code = code;
	return code;
}

int error_errno(struct error *err, int errno_value, const char *format, ...)
{
	va_list args;

	if (!err)
		return -errno_value;

	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	append_reason(err, errno_value);
	snprintf(err->hint, sizeof(err->hint), "%s", remedy(errno_value));
	err->code = -errno_value;
	return err->code;
}

int error_recode(struct error *err, int code)
{
	if (err)
		err->code = code;
	return code;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char former[sizeof(err->message)];
	va_list args;
	size_t length;

	if (!err)
		return ERR_INTERNAL;

	memcpy(former, err->message, sizeof(former));
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	length = strlen(err->message);
	snprintf(err->message + length, sizeof(err->message) - length, ": %s", former);
	return err->code;
}

int error_hint(struct error *err, const char *format, ...)
{
	va_list args;

	if (!err)
		return ERR_INTERNAL;

	va_start(args, format);
	vsnprintf(err->hint, sizeof(err->hint), format, args);
	va_end(args);
	return err->code;
}
