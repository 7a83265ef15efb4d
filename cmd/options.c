/* SPDX-License-Identifier: MIT */
#include "cmd/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/version.h"

enum { OPTION_COLOR = 0x1000, OPTION_DEBUG, OPTION_USAGE };

static const char *const color_modes[] = { "auto", "always", "never", NULL };

/* One line of help for all of them: the screen belongs to the command's own. */
static const struct argp_option common_table[] = {
	{ "-q -v -h --color --debug", 0, NULL, OPTION_DOC | OPTION_NO_USAGE, "As in every command",
	  -2 },
	{ "quiet", 'q', NULL, OPTION_HIDDEN, NULL, -2 },
	{ "verbose", 'v', NULL, OPTION_HIDDEN, NULL, -2 },
	{ "color", OPTION_COLOR, "WHEN", OPTION_HIDDEN, NULL, -2 },
	{ "debug", OPTION_DEBUG, "LIST", OPTION_HIDDEN, NULL, -2 },
	{ "help", 'h', NULL, OPTION_HIDDEN, NULL, -2 },
	{ NULL, '?', NULL, OPTION_HIDDEN, NULL, -2 },
	{ "usage", OPTION_USAGE, NULL, OPTION_HIDDEN, NULL, -2 },
	{ "version", 'V', NULL, OPTION_HIDDEN, NULL, -2 },
	{ 0 },
};

/* The format is set where the process ends: not for a program that is started. */
static void print_help(struct argp_state *state, unsigned int what)
{
	setenv("ARGP_HELP_FMT", "no-dup-args-note", 0);
	argp_state_help(state, stdout, what);
}

static error_t parse_common(int key, char *argument, struct argp_state *state)
{
	struct common_options *options = state->input;

	switch (key) {
	case 'q':
		options->quiet = true;
		return 0;
	case 'v':
		options->verbose = true;
		return 0;
	case 'h':
	case '?':
		print_help(state, ARGP_HELP_STD_HELP);
		return 0;
	case OPTION_USAGE:
		print_help(state, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case 'V':
		version_print(stdout);
		exit(0);
	case OPTION_COLOR:
		options->color =
			(enum color_mode)option_choice(state, "--color", argument, color_modes);
		return 0;
	case OPTION_DEBUG:
		options->debug = argument;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp options_common_argp = { .options = common_table, .parser = parse_common };
const struct argp_child options_common[] = { { &options_common_argp, 0, NULL, 0 }, { 0 } };

static void reject_domains(const char *domains)
{
	struct error err = ERROR_INIT;
	struct strbuf list = { 0 };

	strbuf_add(&list, "all");
	for (int i = 0; i < LOG_NR_DOMAINS; i++)
		strbuf_add_item(&list, ", ", log_domain_name(i));
	error_set(&err, ERR_USAGE, "--debug: no such domain in '%s'", domains);
	error_hint(&err, "known are: %s", list.at);
	exit(fail(&err));
}

void options_parse(const struct argp *parser, int argc, char **argv, void *input,
		   const struct common_options *common)
{
	FILE *plain = stderr;

	/* argp and getopt quote arguments as they are. */
	stderr = filter_open(plain, terminal_clean);
	argp_parse(parser, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, NULL, input);
	filter_close(stderr, plain);
	stderr = plain;
	if (common->verbose)
		log_enable("all");
	if (common->debug && log_enable(common->debug) < 0)
		reject_domains(common->debug);
}

bool option_is_unsigned(const char *value, uint64_t min, uint64_t max, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(value, &end, 10);
	return isdigit((unsigned char)*value) && !*end && !errno && *number >= min &&
	       *number <= max;
}

uint64_t option_unsigned(struct argp_state *state, const char *option, const char *value,
			 uint64_t min, uint64_t max)
{
	uint64_t number;

	if (!option_is_unsigned(value, min, max, &number))
		argp_error(state, "%s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64,
			   option, value, min, max);
	return number;
}

uint64_t option_size(struct argp_state *state, const char *option, const char *value)
{
	uint64_t bytes = 0;

	if (units_parse_size(value, &bytes) < 0)
		argp_error(state, "%s: '%s' is not a size (such as 4096, 64K, 1.5M)", option,
			   value);
	return bytes;
}

int64_t option_duration(struct argp_state *state, const char *option, const char *value)
{
	int64_t duration_ns = 0;

	if (units_parse_duration(value, &duration_ns) < 0 || duration_ns <= 0)
		argp_error(state, "%s: '%s' is not a time (such as 10, 1.5s, 200ms, 2m)", option,
			   value);
	return duration_ns;
}

void option_pids(struct argp_state *state, const char *option, const char *value, struct pids *pids)
{
	char *list = xstrdup(value), *rest = list, *pid;

	while ((pid = strsep(&rest, ",")))
		vec_push(pids, (pid_t)option_unsigned(state, option, pid, 1, INT_MAX));
	free(list);
}

double option_percent(struct argp_state *state, const char *option, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (*end == '%')
		end++;
	if (!isdigit((unsigned char)*value) || *end || !(percent <= 100))
		argp_error(state, "%s: '%s' is not a percentage from 0 to 100", option, value);
	return percent;
}

static void reject_choice(struct argp_state *state, const char *option, const char *value,
			  const char *const *choices)
{
	const char *meant = suggest(value, choices);
	struct strbuf list = { 0 };

	if (meant)
		argp_error(state, "%s: '%s' is not known; did you mean '%s'?", option, value,
			   meant);
	for (; *choices; choices++)
		strbuf_add_item(&list, ", ", *choices);
	argp_error(state, "%s: '%s' is none of: %s", option, value, list.at);
}

int option_choice(struct argp_state *state, const char *option, const char *value,
		  const char *const *choices)
{
	for (int i = 0; choices[i]; i++) {
		if (!strcmp(choices[i], value))
			return i;
	}
	reject_choice(state, option, value, choices);
	return 0; /* not reached */
}
