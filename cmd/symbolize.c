/* SPDX-License-Identifier: MIT */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "symbolize/symbolize.h"

enum { OPTION_DEBUG_DIR = 0x100, OPTION_NO_DEMANGLE };

enum { PATIENCE_NS = 500000000 }; /* what takes longer shows its progress */

struct symbolize_command {
	struct common_options common;
	struct symbolize_options options;
	VEC(const char *) directories;
	const char *path;
	uint64_t started_ns;
	bool shown;
};

static const struct argp_option table[] = {
	{ "debug-dir", OPTION_DEBUG_DIR, "DIR", 0, "Look for debug files in DIR, too; repeatable",
	  0 },
	{ "no-demangle", OPTION_NO_DEMANGLE, NULL, 0, "Names as in the symbol tables", 0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct symbolize_command *command = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->common;
		return 0;
	case OPTION_DEBUG_DIR:
		vec_push(&command->directories, argument);
		return 0;
	case OPTION_NO_DEMANGLE:
		command->options.no_demangle = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			argp_error(state, "one FILE only, not '%s' as well", argument);
		command->path = argument;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
	.options = table,
	.parser = parse,
	.args_doc = "[FILE]",
	.doc = "Look up the names of a profile (cprof.data) again, in place: functions, files, "
	       "lines, inlined calls.  For debug packages installed since, or names that were left "
	       "out when it was recorded.\v"
	       "example:\n"
	       "  apt-get install libc6-dbg && cprof symbolize cprof.data",
	.children = options_common,
};

static void show_progress(void *context, size_t done, size_t total, const char *module)
{
	struct symbolize_command *command = context;

	if (!isatty(STDERR_FILENO) || clock_now_ns() - command->started_ns < PATIENCE_NS)
		return;
	char *name = text_clean(module);
	fprintf(stderr, "\r\033[Klooking up names: %zu of %zu modules, %s", done, total, name);
	free(name);
	command->shown = true;
}

static void clear_progress(const struct symbolize_command *command)
{
	if (command->shown)
		fputs("\r\033[K", stderr);
}

int cmd_symbolize(int argc, char **argv)
{
	struct symbolize_command command = { .path = "cprof.data" };
	struct error err = ERROR_INIT;

	options_parse(&parser, argc, argv, &command, &command.common);
	vec_push(&command.directories, NULL);
	command.options.debug_directories = command.directories.at;
	command.options.context = &command;
	command.options.progress = command.common.quiet ? NULL : show_progress;
	command.started_ns = clock_now_ns();

	int ret = symbolize_file(command.path, &command.options, &err);
	clear_progress(&command);
	vec_free(&command.directories);
	return ret < 0 ? fail(&err) : 0;
}
