/* SPDX-License-Identifier: MIT */
/*
 * cmd - what a command is.
 *
 * `cprof NAME ...` runs the function of the row NAME of the table in main.c.  To add a command:
 * write cmd/NAME.c with an argp parser that fills a struct on the stack, declare cmd_NAME() below,
 * add a row.
 *
 *	int cmd_report(int argc, char **argv)
 *	{
 *		struct report_options options = { ... };
 *		struct error err = ERROR_INIT;
 *
 *		options_parse(&parser, argc, argv, &options);	// exits on bad usage, --help
 *		if (report(&options, &err) < 0)
 *			return fail(&err);
 *		return 0;
 *	}
 *
 * argv[0] is "cprof NAME", so that argp's messages name the command.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "base/error.h"

/*
 * Exit statuses of ours.  Commands that pass on the status of a program keep to what env(1) and
 * timeout(1) do; the others use sysexits.h.
 */
enum {
	STATUS_FAILED = 1,
	STATUS_USAGE = 64,
	STATUS_OURS = 125,	     /* record, stat: everything that is not the program's */
	STATUS_CANNOT_EXECUTE = 126, /* the program is there but cannot be run */
	STATUS_NOT_FOUND = 127,
};

/* The profile that is written, or read, where none is named. */
#define DEFAULT_PROFILE "cprof.data"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
	int usage_status; /* for bad usage: STATUS_USAGE or STATUS_OURS */
};

int cmd_list(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);

/* Prints "cprof: message" and the hint to stderr.  The exit status: STATUS_USAGE for ERR_USAGE,
 * else STATUS_FAILED; STATUS_OURS always, if that is the command's for bad usage. */
int fail(const struct error *err);

/* "cprof: message" to stderr, where all goes on. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
