/* SPDX-License-Identifier: MIT */
/*
 * options - what the option parsers of the commands share.
 *
 *	struct report_options { struct common_options common; ... };
 *
 *	static error_t parse(int key, char *argument, struct argp_state *state)
 *	{
 *		struct report_options *options = state->input;
 *
 *		switch (key) {
 *		case ARGP_KEY_INIT:
 *			state->child_inputs[0] = &options->common;
 *			return 0;
 *		case 'l':
 *			options->limit = option_unsigned(state, "--limit", argument, 1, UINT_MAX);
 *		...
 *	}
 *	static const struct argp parser = { ..., .children = options_common };
 *
 * Parsing has no effects; options_parse() applies --debug and -v afterwards.  Arguments arrive in
 * order; a parser for whom the rest belongs to a program takes it at its first ARGP_KEY_ARG:
 *
 *	options->program = state->argv + state->next - 1;
 *	state->next = state->argc;
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/terminal.h"

/* --color, --debug, -q, -v (--debug=all), -h: the same in every command. */
struct common_options {
	enum color_mode color;
	const char *debug;
	bool quiet;
	bool verbose;
};

extern const struct argp_child options_common[];
/* The same for a list of children with others in it. */
extern const struct argp options_common_argp;
/* argp_parse() with ARGP_IN_ORDER; common is part of input. */
void options_parse(const struct argp *parser, int argc, char **argv, void *input,
		   const struct common_options *common);

struct pids {
	pid_t *at;
	size_t nr, room;
};

/* The value of an option, or argp_error() (which ends the process) naming option and value. */
uint64_t option_unsigned(struct argp_state *state, const char *option, const char *value,
			 uint64_t min, uint64_t max);
/* The same for values that may also be something else; false: it is no such number. */
bool option_is_unsigned(const char *value, uint64_t min, uint64_t max, uint64_t *number);
/* In nanoseconds, more than none: "10" (seconds), "1.5s", "200ms", "2m". */
int64_t option_duration(struct argp_state *state, const char *option, const char *value);
/* Any number of pids, separated by commas. */
void option_pids(struct argp_state *state, const char *option, const char *value,
		 struct pids *pids);
uint64_t option_size(struct argp_state *state, const char *option, const char *value);
double option_percent(struct argp_state *state, const char *option, const char *value);
/* The index of value in a list that NULL ends; the message lists them or says which was meant. */
int option_choice(struct argp_state *state, const char *option, const char *value,
		  const char *const *choices);

#endif
