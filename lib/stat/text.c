/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/command.h"
#include "base/signal_text.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "stat/text_comparison.h"
#include "stat/values.h"
#include "stat/view.h"
#include "stat/wrap.h"

enum {
	VALUE_WIDTH = 14,
	SPREAD_WIDTH = 9,
	RANGE_WIDTH = 10,
	COVERAGE_WIDTH = 8,
	NAME_WIDTH = 24,
	TIME_WIDTH = 10,
	TIME_DECIMALS = 3,
	TIME_DECIMALS_MOST = 9,
	LABEL_WIDTH = 4, /* "A: ", and a column free */
};

/* Notes are parts joined by a middle dot. */
struct note {
	char text[256];
	size_t length;
};

static void note_add(struct note *note, const char *value, const char *meaning)
{
	int nr = snprintf(note->text + note->length, sizeof(note->text) - note->length, "%s%s%s%s",
			  note->length ? " · " : "", value, *meaning ? " " : "", meaning);

	if (nr > 0 && note->length + (size_t)nr < sizeof(note->text))
		note->length += (size_t)nr;
}

static void note_ratio(struct note *note, const struct stat_event *event)
{
	if (isnan(event->ratio))
		return;
	if (!strncmp(event->name, "instructions", strlen("instructions")))
		note_add(note, units_ratio(event->ratio).text, "IPC");
	else if (!strcmp(event->ratio_of, "task-clock"))
		note_add(note, units_ratio(event->ratio).text, "GHz");
	else if (!strcmp(event->ratio_of, "wall-time"))
		note_add(note, units_ratio(event->ratio).text, "CPUs in use");
	else if (!strncmp(event->ratio_of, "cycles", strlen("cycles")))
		note_add(note, units_percent(event->ratio).text, "of cycles");
	else if (strstr(event->name, "-misses"))
		note_add(note, units_percent(event->ratio).text, "missed");
}

static void make_note(struct note *note, const struct stat_event *event)
{
	bool counts_cycles = !strcmp(event->unit, "cycles");
	bool instructions = !strncmp(event->name, "instructions", strlen("instructions"));

	if (!isnan(event->per_1k_instructions) && !counts_cycles && !instructions)
		note_add(note, units_ratio(event->per_1k_instructions).text, "/1k instr");
	note_ratio(note, event);
}

static struct units_text spread_text(const struct stats *value)
{
	double mean = stats_mean(value);

	return units_percent(mean ? stats_stddev(value) / fabs(mean) : 0);
}

/* Columns that are there only if they say something, and there is room. */
struct columns {
	bool spread, range, coverage;
	size_t width; /* 0: not limited */
};

/* Up to the names. */
static size_t width_of(struct columns columns)
{
	return VALUE_WIDTH + (columns.spread ? SPREAD_WIDTH : 0) +
	       (columns.range ? 2 * RANGE_WIDTH : 0) + (columns.coverage ? COVERAGE_WIDTH : 0) + 2;
}

static bool has_room(struct columns columns)
{
	return !columns.width || width_of(columns) + NAME_WIDTH <= columns.width;
}

static struct columns columns_of(const struct stat_result *result,
				 const struct stat_command *command, size_t width)
{
	struct columns columns = { .spread = command->runs > 1,
				   .range = command->runs > 1,
				   .width = width };

	for (size_t i = 0; i < result->nr_events; i++) {
		const struct stat_event *event = &command->events[i];

		columns.coverage |= event->value.nr && event->status == PROFILE_SCALED;
	}
	columns.range = columns.range && has_room(columns);
	columns.spread = columns.spread && has_room(columns);
	return columns;
}

static void print_column_names(struct columns columns, FILE *out)
{
	if (!columns.spread && !columns.coverage)
		return;
	fprintf(out, "%*s", VALUE_WIDTH, columns.spread ? "mean" : "");
	if (columns.spread)
		fprintf(out, "%*s", SPREAD_WIDTH, "std dev");
	if (columns.range)
		fprintf(out, "%*s%*s", RANGE_WIDTH, "min", RANGE_WIDTH, "max");
	if (columns.coverage)
		fprintf(out, "%*s", COVERAGE_WIDTH, "counted");
	fputc('\n', out);
}

/* To the last digit if there is room. */
static struct units_text range_text(double value, const char *unit)
{
	struct units_text text = values_text(value, unit);

	return text_width(text.text) + 2 <= RANGE_WIDTH ? text : values_short(value, unit);
}

static void print_range(const struct stats *value, const char *unit, FILE *out)
{
	fprintf(out, "%*s%*s", RANGE_WIDTH, range_text(value->min, unit).text, RANGE_WIDTH,
		range_text(value->max, unit).text);
}

/* Behind the name, or where that has no room below it. */
static void print_note(struct columns columns, const char *name, const struct note *note, FILE *out)
{
	size_t indent = width_of(columns), length = text_width(name) + 1;
	size_t end = indent + (length > NAME_WIDTH ? length : NAME_WIDTH) + text_width(note->text);

	if (columns.width && end > columns.width)
		fprintf(out, "%s\n%*s%s\n", name, (int)indent, "", note->text);
	else
		fprintf(out, "%-*s %s\n", NAME_WIDTH - 1, name, note->text);
}

static void print_row(struct columns columns, const struct stat_event *event, FILE *out)
{
	bool scaled = event->status == PROFILE_SCALED;
	struct note note = { 0 };

	make_note(&note, event);
	fprintf(out, "%*s", VALUE_WIDTH, values_text(stats_mean(&event->value), event->unit).text);
	if (columns.spread)
		fprintf(out, "%*s", SPREAD_WIDTH, spread_text(&event->value).text);
	if (columns.range)
		print_range(&event->value, event->unit, out);
	if (columns.coverage)
		fprintf(out, "%*s", COVERAGE_WIDTH,
			scaled ? units_percent(event->coverage).text : "");
	fputs("  ", out);
	if (note.length)
		print_note(columns, event->name, &note, out);
	else
		fprintf(out, "%s\n", event->name);
}

static bool told_before(const struct stat_command *command, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (command->events[j].reason &&
		    !strcmp(command->events[j].reason, command->events[i].reason))
			return true;
	}
	return false;
}

static void print_reason(const struct stat_result *result, const struct stat_command *command,
			 size_t first, size_t width, FILE *out)
{
	const char *reason = command->events[first].reason;
	struct strbuf list = { 0 };

	strbuf_add(&list, command->events[first].value.nr ? "stand-in: " : "not counted: ");
	for (size_t i = first; i < result->nr_events; i++) {
		const struct stat_event *event = &command->events[i];

		if (!event->reason || strcmp(event->reason, reason) != 0)
			continue;
		strbuf_add(&list, i > first ? ", " : "");
		strbuf_add(&list, event->name);
	}
	fputc('\n', out);
	wrap_print(list.at, 2, width, out);
	wrap_print(reason, 6, width, out);
	free(list.at);
}

static void print_end(const struct stat_command *command, FILE *out)
{
	if (command->nr_processes)
		fputs(command->left_running ? "still running" : "ended", out);
	else if (command->left_running)
		fprintf(out, "still running, pid %d", command->pid);
	else if (command->signal)
		fprintf(out, "signal %d (%s)", command->signal, signal_text(command->signal).text);
	else
		fprintf(out, "exit %d", command->exit_status);
}

static void print_arguments(char *const *arguments, size_t width, FILE *out)
{
	size_t nr = 0;
	char *line;

	while (arguments[nr])
		nr++;
	line = command_fit((const char *const *)arguments, nr, wrap_width(width) - LABEL_WIDTH);
	fprintf(out, "%s\n", line);
	free(line);
}

/* "process 4711 (redis-server), 4712 (redis-server)" */
static void print_processes(const struct stat_command *command, size_t width, FILE *out)
{
	struct strbuf line = { 0 };

	strbuf_add(&line, command->nr_processes > 1 ? "processes " : "process ");
	for (size_t i = 0; i < command->nr_processes; i++) {
		char *name = text_clean(command->processes[i].name);
		char *process =
			xasprintf("%s%d (%s)", i ? ", " : "", command->processes[i].pid, name);

		strbuf_add(&line, process);
		free(process);
		free(name);
	}
	wrap_print(line.at, 0, width, out);
	free(line.at);
}

static void print_wall_time(const struct stat_command *command, FILE *out)
{
	const struct stats *wall = &command->wall_s;

	if (command->runs)
		fprintf(out, " · %s", units_seconds(stats_mean(wall)).text);
	if (command->runs > 1)
		fprintf(out, " ± %s (%s to %s)", units_seconds(stats_stddev(wall)).text,
			units_seconds(wall->min).text, units_seconds(wall->max).text);
}

static void print_runs(const struct stat_result *result, const struct stat_command *command,
		       FILE *out)
{
	if (command->runs < result->runs)
		fprintf(out, " · %u of %u runs, stopped by %s", command->runs, result->runs,
			signal_text(result->stopped_by).text);
	else if (command->runs > 1)
		fprintf(out, " · %u runs", command->runs);
}

/* How it ended, and how long it took. */
static void print_course(const struct stat_result *result, const struct stat_command *command,
			 size_t width, FILE *out)
{
	char *line = NULL;
	size_t size;
	FILE *course = open_memstream(&line, &size);

	if (!course)
		return;
	print_end(command, course);
	print_wall_time(command, course);
	print_runs(result, command, course);
	if (result->user_only)
		fputs(" · hardware events of user code only", course);
	fclose(course);
	wrap_print_phrases(line, 2, width, out);
	free(line);
}

static void print_heading(const struct stat_result *result, const struct stat_command *command,
			  size_t width, FILE *out)
{
	fputc('\n', out);
	if (result->nr_commands > 1) {
		text_print_label((size_t)(command - result->commands), out);
		fputs(": ", out);
	}
	if (command->nr_processes)
		print_processes(command, width, out);
	else
		print_arguments(command->arguments, width, out);
	print_course(result, command, width, out);
	fputc('\n', out);
}

static void print_command(const struct stat_result *result, const struct stat_command *command,
			  size_t width, FILE *out)
{
	struct columns columns = columns_of(result, command, width);

	print_heading(result, command, width, out);
	print_column_names(columns, out);
	for (size_t i = 0; i < result->nr_events; i++) {
		if (command->events[i].value.nr)
			print_row(columns, &command->events[i], out);
	}
	for (size_t i = 0; i < result->nr_events; i++) {
		if (command->events[i].reason && !told_before(command, i))
			print_reason(result, command, i, width, out);
	}
}

static struct units_text time_text(const struct stat_interval *interval, int decimals)
{
	struct units_text text;

	snprintf(text.text, sizeof(text.text), "%.*f", decimals, interval->time_s);
	return text;
}

/* As many as tell it from the one before: a program may end right after an interval. */
static struct units_text distinct_time(const struct stat_result *result,
				       const struct stat_interval *interval)
{
	const struct stat_interval *before = interval - 1;
	int decimals = TIME_DECIMALS;

	if (interval == result->intervals || before->command != interval->command ||
	    before->run != interval->run)
		return time_text(interval, decimals);
	while (decimals < TIME_DECIMALS_MOST &&
	       !strcmp(time_text(interval, decimals).text, time_text(before, decimals).text))
		decimals++;
	return time_text(interval, decimals);
}

void text_print_interval(const struct stat_result *result, const struct stat_interval *interval,
			 FILE *out)
{
	const struct stat_command *command = &result->commands[interval->command];
	const struct units_text time = distinct_time(result, interval);

	for (size_t i = 0; i < result->nr_events; i++) {
		const struct stat_count *count = &interval->counts[i];

		if (isnan(count->value))
			continue;
		fprintf(out, "%*s s%*s  %s", TIME_WIDTH, time.text, VALUE_WIDTH,
			values_text(count->value, command->events[i].unit).text,
			command->events[i].name);
		if (profile_status_of(count->coverage) == PROFILE_SCALED)
			fprintf(out, "  (counted %s)", units_percent(count->coverage).text);
		fputc('\n', out);
	}
	fputc('\n', out);
}

void text_print(const struct stat_result *result, size_t width, FILE *out)
{
	if (width)
		width = wrap_width(width);
	for (size_t i = 0; i < result->nr_commands; i++)
		print_command(result, &result->commands[i], width, out);
	text_print_comparison(result, width, out);
}
