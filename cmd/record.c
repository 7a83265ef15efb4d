/* SPDX-License-Identifier: MIT */
#include "record/record.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/names.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/terminal.h"
#include "report/report.h"

static const char doc[] =
	"Run a program once and record where its CPU time goes and what its heap does, in one file."
	"\v"
	"example:\n"
	"  cprof record ./app --size 3             CPU and heap, into cprof.data; the\n"
	"                                          former one becomes cprof.data.old\n"
	"  cprof record --heap=off -F 4999 ./app   CPU only, five times as often\n"
	"  cprof record --duration 10 -p 4711      a process that runs already\n"
	"\n"
	"The program keeps its input, output, terminal and signals.  The exit status is\n"
	"the program's; 125 when cprof failed, 126 when the program cannot be run, 127\n"
	"when it is not found.\n";

enum {
	KEY_STACK_SIZE = 256,
	KEY_HEAP,
	KEY_CPU,
	KEY_NO_SYMBOLS,
	KEY_DURATION,
	KEY_DELAY,
	KEY_NO_INHERIT,
	KEY_PAGE_FAULTS,
};

static const struct argp_option table[] = {
	{ "output", 'o', "FILE", 0, "Write the profile to FILE (cprof.data)", 0 },
	{ "frequency", 'F', "HZ", 0, "Samples a second of CPU time (997), or max", 0 },
	{ "count", 'c', "N", 0, "Sample every N events, not by frequency", 0 },
	{ "events", 'e', "LIST", 0, "Sample these events; the first one leads", 0 },
	{ "call-graph", 'g', "HOW", 0, "Find callers by: auto, dwarf, fp, none", 0 },
	{ "stack-size", KEY_STACK_SIZE, "BYTES", 0, "Copy so much of each stack (16K or more)", 0 },
	{ "pid", 'p', "PID,...", 0, "Attach to running processes, CPU only", 0 },
	{ "duration", KEY_DURATION, "TIME", 0, "End the recording after so long: 10, 500ms", 0 },
	{ "delay", KEY_DELAY, "TIME", 0, "Sample only after so long", 0 },
	{ "no-inherit", KEY_NO_INHERIT, NULL, 0, "Do not sample processes it starts", 0 },
	{ "heap", KEY_HEAP, "MODE", 0, "exact, sample[=SIZE], counts: or do not run; off", 0 },
	{ "page-faults", KEY_PAGE_FAULTS, NULL, 0, "Say in whose blocks page faults are", 0 },
	{ "cpu", KEY_CPU, "MODE", 0, "on: do not run without; off", 0 },
	{ "no-symbols", KEY_NO_SYMBOLS, NULL, 0, "Leave names to cprof symbolize", 0 },
	{ 0 },
};

struct record_options {
	struct common_options common;
	struct names_options names;
	struct record_config config;
	struct pids pids;
	bool no_symbols;
};

static enum record_call_graph call_graph_option(struct argp_state *state, const char *value)
{
	static const char *const names[] = { "auto", "dwarf", "fp", "none", NULL };
	static const enum record_call_graph values[] = { RECORD_STACKS_AUTO, RECORD_STACKS_DWARF,
							 RECORD_STACKS_FRAME_POINTERS,
							 RECORD_STACKS_NONE };

	return values[option_choice(state, "--call-graph", value, names)];
}

static enum record_side cpu_option(struct argp_state *state, const char *value)
{
	static const char *const names[] = { "off", "on", NULL };

	return option_choice(state, "--cpu", value, names) ? RECORD_REQUIRED : RECORD_OFF;
}

static uint64_t sample_option(struct argp_state *state, const char *value)
{
	uint64_t bytes = option_size(state, "--heap=sample", value);

	if (bytes < RECORD_SAMPLE_BYTES_MIN || bytes > RECORD_SAMPLE_BYTES_MAX)
		argp_error(state, "--heap=sample: from 1K to 1G bytes");
	return bytes;
}

static void heap_option(struct argp_state *state, struct record_config *config, const char *value)
{
	static const char *const names[] = { "exact", "sample", "counts", "off", NULL };
	static const char sample_is[] = "sample=";

	config->heap = RECORD_REQUIRED;
	config->heap_sample_bytes = RECORD_SAMPLE_BYTES;
	if (!strncmp(value, sample_is, strlen(sample_is))) {
		config->heap_mode = RECORD_HEAP_SAMPLE;
		config->heap_sample_bytes = sample_option(state, value + strlen(sample_is));
		return;
	}
	switch (option_choice(state, "--heap", value, names)) {
	case 0:
		config->heap_mode = RECORD_HEAP_EXACT;
		break;
	case 1:
		config->heap_mode = RECORD_HEAP_SAMPLE;
		break;
	case 2:
		config->heap_mode = RECORD_HEAP_COUNTS;
		break;
	default:
		config->heap = RECORD_OFF;
	}
}

static uint32_t stack_size_option(struct argp_state *state, const char *value)
{
	uint64_t bytes = option_size(state, "--stack-size", value);

	if (bytes < 512 || bytes > RECORD_STACK_BYTES_MAX)
		argp_error(state, "--stack-size: from 512 to %d bytes", RECORD_STACK_BYTES_MAX);
	return (uint32_t)bytes & ~7U;
}

static uint32_t frequency_option(struct argp_state *state, const char *value)
{
	if (!strcmp(value, "max"))
		return RECORD_FREQUENCY_MOST;
	return (uint32_t)option_unsigned(state, "--frequency", value, 1, 1000000);
}

static void check(struct argp_state *state, const struct record_options *options)
{
	const struct record_config *config = &options->config;

	if (!config->arguments && !options->pids.nr)
		argp_error(state, "which program shall be run?");
	if (config->arguments && options->pids.nr)
		argp_error(state, "-p PID and a program to run exclude each other");
	if (options->pids.nr && config->heap == RECORD_REQUIRED)
		argp_error(state, "--heap: the heap of a process can only be accounted from "
				  "its start, not with -p");
	if (config->page_faults && (config->heap == RECORD_OFF || options->pids.nr))
		argp_error(state,
			   "--page-faults are of the heap's blocks: not with --heap=off or -p");
	if (config->frequency_hz && config->period)
		argp_error(state, "--frequency and --count exclude each other");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct record_options *options = state->input;
	struct record_config *config = &options->config;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->names;
		state->child_inputs[1] = &options->common;
		return 0;
	case 'o':
		if (!*argument)
			argp_error(state, "--output: an empty name is no file");
		if (!strcmp(argument, "-"))
			argp_error(state, "--output: a profile is a file, not a stream (./- is one "
					  "of that name)");
		config->output = argument;
		return 0;
	case 'F':
		config->frequency_hz = frequency_option(state, argument);
		return 0;
	case 'c':
		config->period = option_unsigned(state, "--count", argument, 1, INT64_MAX);
		return 0;
	case 'e':
		config->events = argument;
		return 0;
	case 'g':
		config->call_graph = call_graph_option(state, argument);
		return 0;
	case KEY_STACK_SIZE:
		config->stack_bytes = stack_size_option(state, argument);
		return 0;
	case KEY_HEAP:
		heap_option(state, config, argument);
		return 0;
	case KEY_CPU:
		config->cpu = cpu_option(state, argument);
		return 0;
	case 'p':
		option_pids(state, "--pid", argument, &options->pids);
		return 0;
	case KEY_DURATION:
		config->duration_ns = option_duration(state, "--duration", argument);
		return 0;
	case KEY_DELAY:
		config->delay_ns = option_duration(state, "--delay", argument);
		return 0;
	case KEY_NO_INHERIT:
		config->no_inherit = true;
		return 0;
	case KEY_PAGE_FAULTS:
		config->page_faults = true;
		return 0;
	case KEY_NO_SYMBOLS:
		options->no_symbols = true;
		return 0;
	case ARGP_KEY_ARG:
		config->arguments = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		check(state, options);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Where this file is; NULL: nothing tells.  Without /proc, as it was started. */
static char *find_self(void)
{
	const char *started_as = (const char *)getauxval(AT_EXECFN);
	char *self = realpath("/proc/self/exe", NULL);

	return self || !started_as ? self : realpath(started_as, NULL);
}

/* The shim lies beside cprof where it was built, in a folder of its own where it was installed. */
static char *find_shim(void)
{
	char *self = find_self(), *found = NULL;

	if (self) {
		char *beside =
			xasprintf("%.*s/libcprof-heap.so", (int)(strrchr(self, '/') - self), self);

		found = realpath(beside, NULL);
		free(beside);
	}
	free(self);
	return found ? found : realpath(CPROF_LIBDIR "/libcprof-heap.so", NULL);
}

/* The options as they were given, for whoever reads the profile later. */
static char *join_options(char **argv, char *const *end)
{
	struct strbuf joined = { 0 };

	for (char *const *option = argv + 1; option < end; option++)
		strbuf_add_item(&joined, " ", *option);
	return strbuf_take(&joined);
}

static void print_message(void *context, const char *message, const char *hint)
{
	(void)context;
	warn("%s", message);
	if (*hint)
		warn("%s", hint);
}

/* The names, while the files that were mapped are still open. */
static void add_names(struct record *record, struct record_options *options,
		      const struct record_result *result)
{
	struct error err = ERROR_INIT;

	options->names.quiet = options->common.quiet;
	options->names.leave_signals = result->goes_on;
	if (names_look_up(result->path, &options->names, record_module_fd, record, &err) < 0) {
		error_prefix(&err, "names are missing");
		fail(&err);
	}
}

static void print_summary(const struct record_options *options, const char *path)
{
	const struct report_options report_options = {
		.file = strcmp(path, DEFAULT_PROFILE) != 0 ? path : NULL,
		.columns = terminal_width(stderr),
		.color = terminal_wants_color(stderr, options->common.color),
	};
	struct error err = ERROR_INIT;
	struct report *report = NULL;
	struct output output;
	FILE *out;
	int ret = report_open(&report, path, &err);

	output_errors(&output);
	out = terminal_text(output.file);
	if (!ret)
		ret = report_print_brief(report, &report_options, out, &err);
	filter_close(out, output.file);
	output_close(&output, NULL);
	if (ret < 0)
		fail(&err);
	report_close(report);
}

static void warn_still_runs(const struct record_result *result)
{
	warn("the program still runs: its pid is %d", (int)result->left);
}

/* Perhaps without us it would not have: its filter of system calls knows nothing of the shim. */
static void warn_filtered(const struct record_options *options, const struct record_result *result)
{
	if (result->status == 128 + SIGSYS && options->config.heap != RECORD_OFF &&
	    !options->pids.nr)
		warn("a filter of system calls ended the program (SIGSYS): if it forbids those of "
		     "libcprof-heap.so, --heap=off leaves them out");
}

/* The profile is done, the program is not: its status is ours, as if it had been recorded to its
 * end. */
static void outlast(struct record *record, struct record_result *result)
{
	record_outlast(record, result);
	if (result->left)
		warn_still_runs(result);
}

/* What is left to do once the program has ended and the profile is there. */
static void conclude(struct record *record, struct record_options *options,
		     const struct record_result *result)
{
	if (result->left && !options->pids.nr && !result->goes_on)
		warn_still_runs(result);
	warn_filtered(options, result);
	if (!result->is_whole)
		return;
	if (strcmp(result->path, result->asked_path) != 0)
		warn("another recording holds %s: this profile is %s", result->asked_path,
		     result->path);
	if (!options->no_symbols)
		add_names(record, options, result);
	if (!options->common.quiet)
		print_summary(options, result->path);
}

int cmd_record(int argc, char **argv)
{
	static const struct argp_child children[] = { { &names_argp, 0, NULL, 0 },
						      { &options_common_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp parser = { .options = table,
					    .parser = parse,
					    .args_doc = "[--] PROG [ARG...]\n-p PID,...",
					    .doc = doc,
					    .children = children };
	struct record_options options = { .config = { .output = DEFAULT_PROFILE,
						      .message = print_message } };
	struct error err = ERROR_INIT;
	struct record_result result;
	struct record *record;
	char *shim, *given;

	options_parse(&parser, argc, argv, &options, &options.common);
	options.config.remark = options.common.quiet ? NULL : print_message;
	options.config.shim = shim = find_shim();
	options.config.attach = options.pids.at;
	options.config.nr_attach = options.pids.nr;
	options.config.options = given = join_options(
		argv, options.config.arguments ? options.config.arguments : argv + argc);

	if (record_run(&record, &options.config, &result, &err) < 0)
		fail(&err);
	/* The status is the program's, whoever reads what we say of it. */
	signal(SIGPIPE, SIG_IGN);
	conclude(record, &options, &result);
	if (result.goes_on)
		outlast(record, &result);
	record_free(record);
	names_release(&options.names);
	vec_free(&options.pids);
	free(shim);
	free(given);
	return result.status;
}
