/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/commit_signal.h"
#include "base/log.h"
#include "base/suggest.h"
#include "cmd/terminal.h"
#include "cmd/version.h"
#include "record/record.h"

static const struct command commands[] = {
	{ "record", cmd_record, "run a program and record its CPU time and heap", STATUS_OURS },
	{ "report", cmd_report, "show what a recording found", STATUS_USAGE },
	{ "stat", cmd_stat, "run a program and count: cycles, instructions, misses, faults",
	  STATUS_OURS },
	{ "list", cmd_list, "show the events of this machine and whether they can be counted",
	  STATUS_USAGE },
	{ "symbolize", cmd_symbolize, "look up the names of a profile again, in place",
	  STATUS_USAGE },
	{ 0 },
};

/* The status of the running command for bad usage; argp_err_exit_status is the same for argp. */
static int usage_status = STATUS_USAGE;

/* Whatever it quotes: names come from the program, paths from anywhere. */
static void print_line(const char *prefix, const char *line)
{
	char *clean = terminal_clean(line);

	fprintf(stderr, "cprof: %s%s\n", prefix, clean);
	free(clean);
}

static void print_message(const char *message, const char *hint)
{
	print_line("", message);
	if (hint && *hint)
		print_line("", hint);
}

int fail(const struct error *err)
{
	print_message(err->message, err->hint);
	if (usage_status == STATUS_OURS)
		return STATUS_OURS;
	return err->code == ERR_USAGE ? STATUS_USAGE : STATUS_FAILED;
}

void warn(const char *format, ...)
{
	char message[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	print_message(message, NULL);
}

static void print_log(enum log_domain domain, const char *line)
{
	char prefix[32];

	snprintf(prefix, sizeof(prefix), "%s: ", log_domain_name(domain));
	print_line(prefix, line);
}

/* Nothing here may allocate. */
static void out_of_memory(size_t size_bytes)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	int status = usage_status == STATUS_OURS ? STATUS_OURS : STATUS_FAILED;

	if (!atomic_flag_test_and_set(&said))
		dprintf(STDERR_FILENO, "cprof: out of memory (asked for %zu bytes)\n", size_bytes);
	_exit(record_status_without_memory(status));
}

/*
 * A standard descriptor that the caller closed must not be given to a file of ours.  Each gets
 * something that fails when used, as a closed one would; CLOEXEC, so that a program we start finds
 * them closed like in a run without us.
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	}
}

static bool reader_is_gone(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

/*
 * Output that could not be written is a failure, however late it shows.  Which one is known only
 * if writing fails again.
 */
static void close_stdout(void)
{
	bool failed = ferror(stdout), gone = reader_is_gone();

	errno = 0;
	if (!fclose(stdout) && !failed)
		return;
	if (!gone && errno != EPIPE)
		warn("standard output: %s", errno ? strerror(errno) : "could not be written");
	_exit(usage_status == STATUS_OURS ? STATUS_OURS : STATUS_FAILED);
}

static const struct command *find_command(const char *name)
{
	for (const struct command *c = commands; c->name; c++) {
		if (!strcmp(c->name, name))
			return c;
	}
	return NULL;
}

static int print_help(FILE *out, int status)
{
	fputs("cprof - where the cycles go and where the memory goes, in one run\n\n"
	      "usage: cprof COMMAND [OPTION...] [ARGUMENT...]\n\n",
	      out);
	for (const struct command *c = commands; c->name; c++)
		fprintf(out, "  %-10s  %s\n", c->name, c->summary);
	fputs("\nexample:\n"
	      "  cprof record ./app --size 3     run it once; writes cprof.data\n"
	      "  cprof report                    what it found\n"
	      "  cprof report heap               where the memory went, in full\n"
	      "\n"
	      "`cprof COMMAND --help` shows a command's options, `man cprof` explains the rest.\n",
	      out);
	return status;
}

static int print_usage(void)
{
	fputs("usage: cprof COMMAND [OPTION...] [ARGUMENT...]\n"
	      "       cprof --help | --usage | --version\n"
	      "commands:",
	      stdout);
	for (const struct command *c = commands; c->name; c++)
		printf(" %s", c->name);
	putchar('\n');
	return 0;
}

static int unknown_command(const char *name)
{
	const char *names[ARRAY_SIZE(commands)];
	struct error err = ERROR_INIT;
	const char *meant;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
	meant = suggest(name, names);

	error_set(&err, ERR_USAGE, "'%s' is not a command", name);
	if (meant)
		error_hint(&err, "did you mean '%s'?", meant);
	else
		error_hint(&err, "see `cprof --help`");
	return fail(&err);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	char *name = xasprintf("cprof %s", command->name);
	int status;

	usage_status = command->usage_status;
	argp_err_exit_status = command->usage_status;
	argv[0] = name;
	status = command->run(argc, argv);
	free(name);
	return status;
}

/* `cprof help COMMAND` is `cprof COMMAND --help`. */
static int help(int argc, char **argv)
{
	const struct command *command;
	char option[] = "--help";

	if (argc < 2)
		return print_help(stdout, 0);
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return run_command(command, 2, (char *[]){ argv[1], option, NULL });
}

static int dispatch(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2)
		return print_help(stderr, STATUS_USAGE);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help(argc - 1, argv + 1);
	if (!strcmp(argv[1], "--usage"))
		return print_usage();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		version_print(stdout);
		return 0;
	}
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return run_command(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	commit_signal_ignore();
	occupy_standard_descriptors();
	setlocale(LC_CTYPE, "");
	alloc_set_out_of_memory(out_of_memory);
	log_set_sink(print_log);
	atexit(close_stdout);
	return dispatch(argc, argv);
}
