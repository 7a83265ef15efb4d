/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <signal.h>
#include <string.h>

#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/terminal.h"
#include "stat/stat.h"

struct stat_options {
	struct common_options common;
	struct stat_config config;
	VEC(char *const *) commands;
	struct pids pids;
	const char *path; /* of output; NULL: stderr; "-": stdout */
	int view;
	bool runs_given;
	bool has_separator; /* among the arguments of a single command */
	struct output output;
	unsigned int width; /* of that; 0: not limited */
	FILE *out;	    /* what is printed goes there, on its way to the output's file */
};

enum { OPTION_PMU = 1, OPTION_JSON, OPTION_CSV, OPTION_WARMUP, OPTION_DURATION };

/* Enough for a test to say something, as hyperfine takes. */
enum { RUNS_TO_COMPARE = 10 };

static const struct argp_option table[] = {
	{ "events", 'e', "LIST", 0, "Count these (`cprof list`), {a,b} together", 0 },
	{ "pmu", OPTION_PMU, NULL, 0, "All hardware events that most CPUs have", 0 },
	{ "repeat", 'r', "N", 0, "Run the program N times (1; to compare 10)", 0 },
	{ "warmup", OPTION_WARMUP, "N", 0, "And N times before, not counted", 0 },
	{ "pid", 'p', "PID,...", 0, "Count in running processes instead", 0 },
	{ "duration", OPTION_DURATION, "TIME", 0, "With -p: for so long: 10, 500ms", 0 },
	{ "interval", 'I', "MS", 0, "Also print counts every MS milliseconds", 0 },
	{ "json", OPTION_JSON, NULL, 0, "Write JSON", 0 },
	{ "csv", OPTION_CSV, NULL, 0, "Write CSV", 0 },
	{ "output", 'o', "FILE", 0, "Write to FILE, -: standard output (stderr)", 0 },
	{ 0 },
};

static const char doc[] =
	"Run a program and count: cycles, instructions, branch and cache misses, with IPC and "
	"rates; page faults, context switches, CPU time, memory.  Or compare several."
	"\v"
	"example:\n"
	"  cprof stat --pmu ./app --size 3         everything the PMU offers, once\n"
	"  cprof stat -r 5 --json -o a.json ./app  five runs, for a script\n"
	"  cprof stat -I 100 -e cs,faults ./app    over time\n"
	"  cprof stat -p 4711 --duration 10        what runs already\n"
	"  cprof stat -- ./old x --- ./new x       which is better, and is it chance?\n"
	"\n"
	"The exit status is the program's; 125 when cprof failed, 126 when the program\n"
	"cannot be run, 127 when it is not found.\n";

static unsigned int number(struct argp_state *state, const char *option, const char *argument,
			   unsigned int min, unsigned int max)
{
	return (unsigned int)option_unsigned(state, option, argument, min, max);
}

/* The words of the first command, or of those that "---" separates behind an explicit "--". */
static void take_commands(struct argp_state *state, struct stat_options *options)
{
	char **words = state->argv + state->next - 1;

	vec_push(&options->commands, words);
	for (; *words; words++) {
		if (strcmp(*words, "---") != 0)
			continue;
		options->has_separator |= !state->quoted;
		if (!state->quoted)
			continue;
		*words = NULL;
		vec_push(&options->commands, words + 1);
	}
	vec_each(&options->commands, command)
	{
		if (!(*command)[0])
			argp_error(state, "which program?  There is none before or behind a ---");
	}
	state->next = state->argc;
}

static void set_view(struct argp_state *state, struct stat_options *options, int view)
{
	if (options->view != STAT_TEXT && options->view != view)
		argp_error(state, "--json or --csv, not both");
	options->view = view;
}

static void check(struct argp_state *state, struct stat_options *options)
{
	struct stat_config *config = &options->config;

	if (options->commands.nr && options->pids.nr)
		argp_error(state, "-p PID and a program to run exclude each other");
	if (!options->commands.nr && !options->pids.nr)
		argp_error(state, "which program?");
	if (options->pids.nr && (options->runs_given || config->warmup))
		argp_error(state, "-p PID: nothing is run, so --repeat and --warmup make no sense");
	if (!options->pids.nr && config->duration_ns) {
		argp_error(state, "--duration goes with -p; `timeout 10 cprof stat PROG` ends a "
				  "program after so long");
	}
	if (options->commands.nr > 1 && config->interval_ms)
		argp_error(state, "--interval shows one program over time, not several");
	if (options->commands.nr > 1 && !options->runs_given)
		config->runs = RUNS_TO_COMPARE;
	config->commands = options->commands.at;
	config->nr_commands = options->commands.nr;
	config->attach = options->pids.at;
	config->nr_attach = options->pids.nr;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct stat_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case 'e':
		options->config.events = argument;
		return 0;
	case OPTION_PMU:
		options->config.full_pmu = true;
		return 0;
	case 'r':
		options->config.runs = number(state, "--repeat", argument, 1, 100000);
		options->runs_given = true;
		return 0;
	case OPTION_WARMUP:
		options->config.warmup = number(state, "--warmup", argument, 0, 100000);
		return 0;
	case 'p':
		option_pids(state, "--pid", argument, &options->pids);
		return 0;
	case OPTION_DURATION:
		options->config.duration_ns = option_duration(state, "--duration", argument);
		return 0;
	case 'I':
		options->config.interval_ms = number(state, "--interval", argument, 1, 86400000);
		return 0;
	case OPTION_JSON:
		set_view(state, options, STAT_JSON);
		return 0;
	case OPTION_CSV:
		set_view(state, options, STAT_CSV);
		return 0;
	case 'o':
		options->path = argument;
		return 0;
	case ARGP_KEY_ARG:
		take_commands(state, options);
		return 0;
	case ARGP_KEY_SUCCESS:
		check(state, options);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
	.options = table,
	.parser = parse,
	.args_doc = "[--] PROG [ARG...] [--- PROG [ARG...]]...\n-p PID,...",
	.doc = doc,
	.children = options_common,
};

static void print_interval(void *context, const struct stat_result *result,
			   const struct stat_interval *interval)
{
	struct stat_options *options = context;

	output_begin(&options->output);
	stat_views[options->view].interval(result, interval, options->out);
	fflush(options->out);
	fflush(options->output.file);
}

static int measure(struct stat_options *options)
{
	const struct stat_view *view = &stat_views[options->view];
	bool prints = options->path || !options->common.quiet;
	struct error err = ERROR_INIT;
	struct stat_result result;
	int ret, status, closed;

	if (prints && view->interval)
		options->config.on_interval = print_interval;
	options->config.context = options;
	ret = stat_measure(&result, &options->config, &err);
	status = result.status;

	signal(SIGPIPE, SIG_IGN);
	if (!ret && prints) {
		output_begin(&options->output);
		view->print(&result, options->width, options->out);
	}
	filter_close(options->out, options->output.file);
	closed = output_close(&options->output, ret < 0 ? NULL : &err);
	if (!ret && closed < 0) {
		ret = closed;
		status = STATUS_OURS;
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
	int status, ret = 0;

	options_parse(&parser, argc, argv, &options, &options.common);
	if (options.has_separator && !options.common.quiet)
		warn("--- is an argument of %s: several commands are compared behind a -- before "
		     "the first",
		     options.commands.at[0][0]);
	if (options.path)
		ret = output_open(&options.output, options.path, &err);
	else
		output_errors(&options.output);
	if (!ret) {
		options.width = terminal_width(options.output.file);
		options.out = options.view == STAT_TEXT ? terminal_text(options.output.file)
							: options.output.file;
	}
	status = !ret ? measure(&options) : fail(&err);
	vec_free(&options.commands);
	vec_free(&options.pids);
	return status;
}
