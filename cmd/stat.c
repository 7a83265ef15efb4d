/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "stat/stat.h"

struct stat_options {
	struct common_options common;
	struct stat_config config;
	const char *output; /* NULL: stderr; "-": stdout */
	bool json;
};

enum { OPTION_PMU = 1, OPTION_JSON };

static const struct argp_option table[] = {
	{ "pmu", OPTION_PMU, NULL, 0, "All hardware events that have a generic name", 0 },
	{ "repeat", 'r', "N", 0, "Run the program N times: mean and deviation", 0 },
	{ "json", OPTION_JSON, NULL, 0, "Write JSON", 0 },
	{ "output", 'o', "FILE", 0, "Write to FILE, -: standard output (stderr)", 0 },
	{ 0 },
};

static const char doc[] =
	"Run a program and count: cycles, instructions, branch and cache misses, with IPC and "
	"rates; page faults, context switches, CPU time, memory."
	"\v"
	"example:\n"
	"  cprof stat --pmu ./app --size 3         everything the PMU offers, once\n"
	"  cprof stat -r 5 --json -o a.json ./app  five runs, for a script\n"
	"\n"
	"The exit status is the program's; 125 when cprof failed, 126 when the program\n"
	"cannot be run, 127 when it is not found.\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct stat_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case OPTION_PMU:
		options->config.full_pmu = true;
		return 0;
	case 'r':
		options->config.runs =
			(unsigned int)option_unsigned(state, "--repeat", argument, 1, 100000);
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case 'o':
		options->output = argument;
		return 0;
	case ARGP_KEY_ARG:
		options->config.arguments = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which program?");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
	.options = table,
	.parser = parse,
	.args_doc = "[--] PROG [ARG...]",
	.doc = doc,
	.children = options_common,
};

static FILE *open_output(const char *path, struct error *err)
{
	FILE *out;

	if (!path)
		return stderr;
	if (!strcmp(path, "-"))
		return stdout;
	out = fopen(path, "we");
	if (!out)
		error_errno(err, errno, "write %s", path);
	return out;
}

/* Standard output is looked at when the process ends, standard error cannot be complained about. */
static int close_output(FILE *out, const char *path, struct error *err)
{
	bool failed = ferror(out);

	if (out == stderr || out == stdout)
		return 0;
	errno = 0;
	if (!fclose(out) && !failed)
		return 0;
	return error_errno(err, errno ? errno : EIO, "write %s", path);
}

static int measure(const struct stat_options *options, FILE *out)
{
	struct error err = ERROR_INIT;
	struct stat_result result;
	int ret = stat_measure(&result, &options->config, &err);
	int status = result.status;

	signal(SIGPIPE, SIG_IGN);
	if (!ret && (options->output || !options->common.quiet)) {
		stat_views[options->json ? STAT_JSON : STAT_TEXT].print(&result, out);
		ret = close_output(out, options->output, &err);
		status = ret < 0 ? STATUS_OURS : status;
	}
	if (ret < 0)
		fail(&err);
	stat_result_release(&result);
	return status;
}

int cmd_stat(int argc, char **argv)
{
	struct stat_options options = { .config = { .runs = 1 } };
	struct error err = ERROR_INIT;
	FILE *out;

	options_parse(&parser, argc, argv, &options, &options.common);
	out = open_output(options.output, &err);
	if (!out)
		return fail(&err);
	return measure(&options, out);
}
