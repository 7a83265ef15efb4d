/* SPDX-License-Identifier: MIT */
#include "cmd/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "cmd/options.h"
#include "cmd/terminal.h"

enum { KEY_DEBUG_DIR = 0x2000, KEY_DEBUGINFOD, KEY_BUDGET, KEY_NO_DEMANGLE };

#define PATIENCE_NS UINT64_C(500000000) /* what takes longer shows its progress */

static const struct argp_option table[] = {
	{ "debug-dir", KEY_DEBUG_DIR, "DIR", 0, "Look for debug files in DIR, too; repeatable", 0 },
	{ "debuginfod", KEY_DEBUGINFOD, "WHERE", OPTION_ARG_OPTIONAL,
	  "Fetch those not found; WHERE is auto or a URL", 0 },
	{ "symbol-budget", KEY_BUDGET, "TIME", 0, "Then names without lines will do (60s)", 0 },
	{ "no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Names as in the symbol tables", 0 },
	{ 0 },
};

static const char *servers_option(struct argp_state *state, const char *value)
{
	const char *set = getenv("DEBUGINFOD_URLS");

	if (set && !*set)
		set = NULL;
	if (!value)
		return set ? set : SYMBOLIZE_PUBLIC_SERVER;
	if (!strcmp(value, "auto"))
		return set;
	if (!strstr(value, "://"))
		argp_error(state, "--debuginfod: '%s' is neither auto nor a URL", value);
	return value;
}

static void budget_option(struct argp_state *state, struct names_options *options,
			  const char *value)
{
	char *time = xstrdup(value), *size = strchr(time, ',');
	int64_t time_ns;

	if (size)
		*size++ = '\0';
	if (units_parse_duration(time, &time_ns) < 0)
		argp_error(state, "--symbol-budget: '%s' is not a time (such as 10s, 2m)", time);
	options->budget_ns = time_ns > 0 ? (uint64_t)time_ns : 1;
	if (size)
		options->budget_bytes = option_size(state, "--symbol-budget", size);
	free(time);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct names_options *options = state->input;

	switch (key) {
	case KEY_DEBUG_DIR:
		vec_push(&options->directories, argument);
		return 0;
	case KEY_DEBUGINFOD:
		options->servers = servers_option(state, argument);
		return 0;
	case KEY_BUDGET:
		budget_option(state, options, argument);
		return 0;
	case KEY_NO_DEMANGLE:
		options->no_demangle = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp names_argp = { .options = table, .parser = parse };

/* --- looking up ---------------------------------------------------------------------------- */

struct look_up {
	int (*open_module)(void *context, const struct profile_module *module);
	void *context;
	uint64_t started_ns;
	bool shown;
};

static int open_module(void *context, const struct profile_module *module)
{
	const struct look_up *look_up = context;

	return look_up->open_module ? look_up->open_module(look_up->context, module) : -1;
}

static void print_fetching(const struct symbolize_progress *progress)
{
	fprintf(stderr, ": fetching, %s", units_size(progress->fetched_bytes).text);
	if (progress->fetch_bytes)
		fprintf(stderr, " of %s", units_size(progress->fetch_bytes).text);
	fputs(" (^C skips it)", stderr);
}

static void show_progress(void *context, const struct symbolize_progress *progress)
{
	struct look_up *look_up = context;

	if (clock_now_ns() - look_up->started_ns < PATIENCE_NS)
		return;
	char *name = terminal_clean(progress->module);
	fprintf(stderr, "\r\033[Klooking up names: %zu of %zu modules, %s", progress->done,
		progress->total, name);
	free(name);
	if (progress->fetching)
		print_fetching(progress);
	look_up->shown = true;
}

int names_look_up(const char *path, struct names_options *options,
		  int (*open)(void *context, const struct profile_module *module), void *context,
		  struct error *err)
{
	struct look_up look_up = { open, context, clock_now_ns(), false };

	vec_push(&options->directories, NULL);
	const struct symbolize_options symbolize_options = {
		.open_module = open_module,
		.progress = options->quiet || !isatty(STDERR_FILENO) ? NULL : show_progress,
		.context = &look_up,
		.debug_directories = options->directories.at,
		.no_demangle = options->no_demangle,
		.debuginfod_urls = options->servers,
		.budget_ns = options->budget_ns,
		.budget_bytes = options->budget_bytes,
		.leave_signals = options->leave_signals,
	};
	int ret = symbolize_file(path, &symbolize_options, err);
	options->directories.nr--;
	if (look_up.shown)
		fputs("\r\033[K", stderr);
	return ret;
}

void names_release(struct names_options *options)
{
	vec_free(&options->directories);
}
