/* SPDX-License-Identifier: MIT */
/*
 * error - what went wrong, with which object, and what to do next.
 *
 *	int module_open(struct module *m, const char *path, struct error *err)
 *	{
 *		m->fd = open(path, O_RDONLY | O_CLOEXEC);
 *		if (m->fd < 0)
 *			return error_errno(err, errno, "open %s", path);
 *		return 0;
 *	}
 *
 * A function that can fail returns 0 or more, or a negative code: -errno, or one of
 * enum error_code.  The words are made where the facts are; callers on the way up add what
 * they were doing with error_prefix().  Only cmd/ prints.  Every function here takes a NULL
 * error, and then only returns the code.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

enum error_code {
	ERR_USAGE = -4001,	 /* the user asked for something that does not exist */
	ERR_FORMAT = -4002,	 /* a file is not what it should be, or damaged */
	ERR_VERSION = -4003,	 /* of another format version */
	ERR_UNSUPPORTED = -4004, /* this machine or build cannot do it */
	ERR_REFUSED = -4005,	 /* permission, limits, seccomp */
	ERR_BUSY = -4006,	 /* another cprof holds it */
	ERR_INTERRUPTED = -4007, /* stopped by the user */
	ERR_INTERNAL = -4008,
};

struct error {
	int code;
	char message[1024];
	char hint[1024];
};

#define ERROR_INIT \
	{          \
		0  \
	}

/* Sets code and message and returns code.  A former message and hint are replaced. */
int error_set(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As error_set() with code -errno_value, and ": <strerror>" appended to the message; the hint is
 * what lifts the limit, if it is one of a limit. */
int error_errno(struct error *err, int errno_value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Keeps the words, for who decides by what kind of failure it is: the code becomes this one.
 * Returns it. */
int error_recode(struct error *err, int code);

/* Puts "<format>: " before the message.  Returns the code. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What the user can do about it.  Returns the code. */
int error_hint(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
