/* SPDX-License-Identifier: MIT */
#include <argp.h>

#include "cmd/cmd.h"
#include "cmd/names.h"
#include "cmd/options.h"

struct symbolize_command {
	struct common_options common;
	struct names_options names;
	const char *path;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct symbolize_command *command = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->names;
		state->child_inputs[1] = &command->common;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			argp_error(state, "one FILE only, not '%s' as well", argument);
		command->path = argument;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {
	{ &names_argp, 0, NULL, 0 },
	{ &options_common_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp parser = {
	.parser = parse,
	.args_doc = "[FILE]",
	.doc = "Look up the names of a profile (cprof.data) again, in place: functions, files, "
	       "lines, inlined calls.  For debug packages installed since, or names that were left "
	       "out when it was recorded.\v"
	       "example:\n"
	       "  apt-get install libc6-dbg && cprof symbolize cprof.data",
	.children = children,
};

int cmd_symbolize(int argc, char **argv)
{
	struct symbolize_command command = { .path = DEFAULT_PROFILE };
	struct error err = ERROR_INIT;

	options_parse(&parser, argc, argv, &command, &command.common);
	command.names.quiet = command.common.quiet;

	int ret = names_look_up(command.path, &command.names, NULL, NULL, &err);
	names_release(&command.names);
	return ret < 0 ? fail(&err) : 0;
}
