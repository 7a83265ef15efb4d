/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/filter.h"
#include "cmd/names.h"
#include "cmd/options.h"
#include "cmd/output.h"
#include "cmd/terminal.h"

struct arguments {
	struct common_options common;
	struct report_options report;
	const char *operands[3];
	int nr_operands;
	const char *file;
	bool is_default;    /* the file, since none was named */
	const char *output; /* NULL, "-": standard output */
};

enum {
	OPTION_JSON = 1000,
	OPTION_CSV,
	OPTION_SORT,
	OPTION_LIMIT,
	OPTION_MIN,
	OPTION_NO_INLINE,
	OPTION_COMM,
	OPTION_PID,
	OPTION_TID,
	OPTION_TIME,
	OPTION_FUNCTION,
	OPTION_MODULE,
};

static const struct argp_option table[] = {
	{ "json", OPTION_JSON, NULL, 0, "As JSON, with every figure there is", 1 },
	{ "csv", OPTION_CSV, NULL, 0, "The table of a view as CSV", 1 },
	{ "output", 'o', "FILE", 0, "Write to FILE", 1 },
	{ "sort", OPTION_SORT, "KEY", 0, "Order by a column, named as in JSON or text", 2 },
	{ "limit", OPTION_LIMIT, "N", 0, "At most N rows, or all", 2 },
	{ "min", OPTION_MIN, "PCT", 0, "No rows below PCT percent", 2 },
	{ "function", OPTION_FUNCTION, "RE", 0, "Only rows of functions that match", 2 },
	{ "module", OPTION_MODULE, "RE", 0, "Only rows of modules that match", 2 },
	{ "no-inline", OPTION_NO_INLINE, NULL, 0, "Count inlined code where it is", 3 },
	{ "comm", OPTION_COMM, "NAME", 0, "Only threads of this name", 3 },
	{ "pid", OPTION_PID, "PID", 0, "Only this process", 3 },
	{ "tid", OPTION_TID, "TID", 0, "Only this thread", 3 },
	{ "time", OPTION_TIME, "FROM,TO", 0, "Only samples of this time, in seconds", 3 },
	{ 0 },
};

static const char doc[] =
	"Show what a recording found.\v"
	"VIEW is one of\n"
	"  summary     both sides on a page (the default)\n"
	"  functions   where the CPU time went, by function\n"
	"  callers     which functions call which; with FUNCTION (a RE), who calls it\n"
	"  modules     in which files the code is, and where its names come from\n"
	"  threads     which thread used the CPU\n"
	"  heap        where the memory was at the peak, by stack\n"
	"  leaks       what was never freed, by stack\n"
	"  timeline    heap, memory and CPU over time\n"
	"  quality     what was not measured as it should be\n"
	"FILE is " DEFAULT_PROFILE " if not given; a file named like a view is ./heap.\n"
	"example: cprof report functions --sort total --limit 20";

static size_t parse_limit(struct argp_state *state, const char *value)
{
	uint64_t limit = REPORT_ALL;

	if (strcmp(value, "all") != 0 && !option_is_unsigned(value, 1, UINT_MAX, &limit))
		argp_error(state, "--limit: '%s' is neither a whole number from 1 to %u nor 'all'",
			   value, UINT_MAX);
	return (size_t)limit;
}

static int parse_id(struct argp_state *state, const char *option, const char *value)
{
	return (int)option_unsigned(state, option, value, 1, INT_MAX);
}

/* "1.5,2", "200ms,", ",3s": either end may be left out. */
static void parse_time(struct argp_state *state, const char *value, struct report_options *report)
{
	const char *comma = strchr(value, ',');
	char from[64] = "0";
	int64_t from_ns = 0, to_ns = INT64_MAX;

	if (comma && comma > value)
		snprintf(from, sizeof(from), "%.*s", (int)(comma - value), value);
	if (!comma || comma - value >= (long)sizeof(from) ||
	    units_parse_duration(from, &from_ns) < 0 ||
	    (comma[1] && units_parse_duration(comma + 1, &to_ns) < 0))
		argp_error(state, "--time: '%s' is not FROM,TO, as in 1.5,2s or 200ms,", value);
	if (from_ns >= to_ns)
		argp_error(state, "--time: '%s' as FROM,TO ends no later than it begins", value);
	report->from_s = (double)from_ns / 1e9;
	report->to_s = comma[1] ? (double)to_ns / 1e9 : HUGE_VAL;
}

static void set_format(struct argp_state *state, enum report_format format)
{
	struct report_options *report = &((struct arguments *)state->input)->report;

	if (report->format != REPORT_TEXT && report->format != format)
		argp_error(state, "--json and --csv: give one of them");
	report->format = format;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct report_options *report = &arguments->report;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->common;
		return 0;
	case OPTION_JSON:
		set_format(state, REPORT_JSON);
		return 0;
	case OPTION_CSV:
		set_format(state, REPORT_CSV);
		return 0;
	case 'o':
		arguments->output = value;
		return 0;
	case OPTION_SORT:
		report->sort = value;
		return 0;
	case OPTION_LIMIT:
		report->limit = parse_limit(state, value);
		return 0;
	case OPTION_MIN:
		report->min_share = option_percent(state, "--min", value) / 100;
		return 0;
	case OPTION_FUNCTION:
		report->function = value;
		return 0;
	case OPTION_MODULE:
		report->module = value;
		return 0;
	case OPTION_NO_INLINE:
		report->no_inline = true;
		return 0;
	case OPTION_COMM:
		report->comm = value;
		return 0;
	case OPTION_PID:
		report->pid = parse_id(state, "--pid", value);
		return 0;
	case OPTION_TIME:
		parse_time(state, value, report);
		return 0;
	case OPTION_TID:
		report->tid = parse_id(state, "--tid", value);
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->nr_operands == 3)
			argp_error(state, "too many arguments: '%s'", value);
		arguments->operands[arguments->nr_operands++] = value;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp parser = {
	.options = table,
	.parser = parse,
	.args_doc = "[VIEW [FUNCTION]] [FILE]",
	.doc = doc,
	.children = options_common,
};

/* --- operands --- */

static bool is_view(const char *word)
{
	for (const char *const *name = report_view_names(); *name; name++)
		if (!strcmp(*name, word))
			return true;
	return false;
}

/* Files have a dot or a slash, or are there. */
static bool may_be_file(const char *word)
{
	return strpbrk(word, "./") || !access(word, F_OK);
}

static int hint_at_views(struct error *err)
{
	struct strbuf list = { 0 };
	int ret;

	for (const char *const *name = report_view_names(); *name; name++)
		strbuf_add_item(&list, ", ", *name);
	ret = error_hint(err, "views are: %s", list.at);
	free(list.at);
	return ret;
}

static int unknown_view(const char *word, bool or_file, struct error *err)
{
	const char *meant = suggest(word, report_view_names());

	error_set(err, ERR_USAGE, "'%s' is %s", word,
		  or_file ? "neither a view nor a file" : "not a view");
	return meant ? error_hint(err, "did you mean '%s'?", meant) : hint_at_views(err);
}

static int several_files(const char *first, const char *second, struct error *err)
{
	error_set(err, ERR_USAGE, "'%s' and '%s': a report is of one file", first, second);
	return error_hint(err, "it is given as `cprof report [VIEW] [FILE]`");
}

static int too_many(const char *operand, struct error *err)
{
	return error_set(err, ERR_USAGE, "too many arguments: '%s'", operand);
}

/* No function is named so; of other words only a profile is a file: "main" may be the program. */
static bool is_profile(const char *word)
{
	return *word == '/' || !strncmp(word, "./", 2) || !strncmp(word, "../", 3) ||
	       report_is_profile(word) || (access(word, R_OK) < 0 && errno == EACCES);
}

/* What stands behind the view: a function, if the view is of one, and a file, each at most once. */
static int assign_rest(struct arguments *arguments, const char *const *rest, const char *const *end,
		       struct error *err)
{
	bool wants_function =
		!strcmp(arguments->report.view, "callers") && !arguments->report.function;

	if (wants_function && rest < end &&
	    (rest + 1 < end || arguments->file || !is_profile(*rest)))
		arguments->report.function = *rest++;
	if (rest < end && !arguments->file)
		arguments->file = *rest++;
	return rest < end ? too_many(*rest, err) : 0;
}

static int assign_operands(struct arguments *arguments, struct error *err)
{
	const char *const *end = arguments->operands + arguments->nr_operands;
	const char *first = arguments->operands[0], *second = arguments->operands[1];

	if (!first)
		return 0;
	if (is_view(first)) {
		arguments->report.view = first;
		return assign_rest(arguments, arguments->operands + 1, end, err);
	}
	if (!may_be_file(first))
		return unknown_view(first, !second, err);
	if (second && !is_view(second))
		return may_be_file(second) ? several_files(first, second, err)
					   : unknown_view(second, false, err);
	arguments->file = first;
	if (!second)
		return 0;
	arguments->report.view = second;
	return assign_rest(arguments, arguments->operands + 2, end, err);
}

static void choose_file(struct arguments *arguments)
{
	arguments->is_default = !arguments->file;
	arguments->file = arguments->file ?: DEFAULT_PROFILE;
}

/* --- running --- */

static bool is_refused_by_system(int code)
{
	return code == -EACCES || code == -EPERM || code == -EROFS || code == -ENOSPC ||
	       code == -EDQUOT;
}

static int look_up(const char *path, struct error *err)
{
	struct names_options options = { 0 };
	int ret = names_look_up(path, &options, NULL, NULL, err);

	names_release(&options);
	return ret;
}

static int reopen(struct report **report, const char *path, struct error *err)
{
	report_close(*report);
	*report = NULL;
	return report_open(report, path, err);
}

/* There is still a report. */
static int warn_nameless(const char *path, const struct error *why)
{
	warn("%s has no names yet, and it could not get any: %s", path, why->message);
	return 0;
}

/* Where the profile cannot be written, or is just being recorded: for this report only. */
static int resolve_in_copy(struct report **report, const char *path, struct error *err)
{
	struct error why = ERROR_INIT;
	char *copy;
	int ret = report_copy(&copy, path, &why);

	if (ret >= 0)
		ret = look_up(copy, &why);
	if (ret >= 0)
		ret = reopen(report, copy, err);
	else
		ret = warn_nameless(path, &why);
	report_remove_copy(copy);
	return ret;
}

/* As `cprof record` would have done at its end. */
static int resolve_names(struct report **report, const char *path, struct error *err)
{
	struct error why = ERROR_INIT;
	int ret = look_up(path, &why);

	if (ret >= 0)
		return reopen(report, path, err);
	if (is_refused_by_system(ret) || ret == ERR_BUSY)
		return resolve_in_copy(report, path, err);
	return warn_nameless(path, &why);
}

static int open_profile(struct report **report, const struct arguments *arguments,
			struct error *err)
{
	int ret = report_open(report, arguments->file, err);

	if (ret == -ENOENT && arguments->is_default)
		error_hint(err, "make one with `cprof record PROGRAM`, or name the file");
	if (ret < 0)
		return ret;
	if (report_lacks_symbols(*report))
		return resolve_names(report, arguments->file, err);
	return 0;
}

static bool is_text(const struct arguments *arguments)
{
	return arguments->report.format == REPORT_TEXT;
}

static int print_to_terminal(const struct report *report, struct arguments *arguments,
			     struct error *err)
{
	struct terminal terminal;
	int ret;

	terminal_open(&terminal, arguments->common.color, is_text(arguments));
	arguments->report.columns = terminal.width;
	arguments->report.color = terminal.color;
	ret = report_print(report, &arguments->report, terminal.out, err);
	terminal_close(&terminal);
	return ret;
}

static bool is_same_file(const char *one, const char *other)
{
	struct stat a, b;

	return !stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void begin(void *context)
{
	output_begin(context);
}

/* What is in the file goes for a report only, not for one that cannot be made. */
static int print_to_file(const struct report *report, struct arguments *arguments,
			 struct error *err)
{
	struct output output;
	FILE *out;
	int ret, closed;

	if (is_same_file(arguments->output, arguments->file))
		return error_set(err, ERR_USAGE, "not overwritten: %s is the profile itself",
				 arguments->output);
	if (output_open(&output, arguments->output, err) < 0)
		return err->code;
	arguments->report.columns = terminal_width(output.file);
	arguments->report.color = terminal_wants_color(output.file, arguments->common.color);
	arguments->report.on_begin = begin;
	arguments->report.context = &output;
	out = is_text(arguments) ? terminal_text(output.file) : output.file;
	ret = report_print(report, &arguments->report, out, err);
	filter_close(out, output.file);
	closed = output_close(&output, ret < 0 ? NULL : err);
	return ret < 0 ? ret : closed;
}

static void warn_absent(const char *view, const char *reason)
{
	warn("%s: not known: %s", view, reason);
}

static int print(const struct report *report, struct arguments *arguments, struct error *err)
{
	if (strcmp(arguments->file, DEFAULT_PROFILE) != 0)
		arguments->report.file = arguments->file;
	if (!arguments->common.quiet)
		arguments->report.on_absent = warn_absent;
	if (arguments->output && strcmp(arguments->output, "-") != 0)
		return print_to_file(report, arguments, err);
	return print_to_terminal(report, arguments, err);
}

int cmd_report(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct report *report = NULL;
	struct error err = ERROR_INIT;
	int ret;

	options_parse(&parser, argc, argv, &arguments, &arguments.common);
	ret = assign_operands(&arguments, &err);
	choose_file(&arguments);
	if (ret >= 0)
		ret = open_profile(&report, &arguments, &err);
	if (ret >= 0)
		ret = print(report, &arguments, &err);
	report_close(report);
	return ret < 0 ? fail(&err) : 0;
}
