/* SPDX-License-Identifier: MIT */
#include <argp.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/terminal.h"
#include "stat/list.h"

enum { OPTION_JSON = 1 };

struct list_options {
	struct common_options common;
	const char *word;
	bool json;
};

static const struct argp_option table[] = {
	{ "json", OPTION_JSON, NULL, 0, "Write JSON", 0 },
	{ 0 },
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct list_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case OPTION_JSON:
		options->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			argp_error(state, "one WORD only, not '%s' as well", argument);
		options->word = argument;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
	.options = table,
	.parser = parse,
	.args_doc = "[WORD]",
	.doc = "The events of this machine, for `stat -e` and `record -e`: what they are, and "
	       "whether "
	       "they can be counted here.  With WORD those whose name or kind contains it.\v"
	       "example:\n"
	       "  cprof list                 all of them\n"
	       "  cprof list cache           hardware events of caches\n"
	       "  cprof list --json sched:   tracepoints of the scheduler, for a script\n"
	       "\n"
	       "The exit status is 1 if there is none, 64 on bad usage.\n",
	.children = options_common,
};

static int fail_none(const struct stat_list *list, const char *word)
{
	struct error err = ERROR_INIT;

	error_set(&err, ERR_UNSUPPORTED, "no event matches '%s'", word);
	if (list->meant)
		error_hint(&err, "did you mean '%s'?", list->meant);
	else
		error_hint(&err, "`cprof list` shows all of them; codes of the CPU's manual are "
				 "in cprof-stat(1)");
	return fail(&err);
}

static void print(const struct stat_list *list, const struct list_options *options)
{
	struct terminal terminal;

	terminal_open(&terminal, options->common.color, !options->json);
	if (options->json)
		stat_list_print_json(list, terminal.out);
	else
		stat_list_print_text(list, terminal.width, terminal.out);
	terminal_close(&terminal);
}

int cmd_list(int argc, char **argv)
{
	struct list_options options = { 0 };
	struct stat_list list;
	int status = 0;

	options_parse(&parser, argc, argv, &options, &options.common);
	stat_list_make(&list, options.word);
	if (list.nr)
		print(&list, &options);
	else
		status = fail_none(&list, options.word ? options.word : "");
	stat_list_release(&list);
	return status;
}
