/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "stat/view.h"

enum { COLUMNS = 80, VALUE_WIDTH = 14, SPREAD_WIDTH = 9, COVERAGE_WIDTH = 8, NAME_WIDTH = 24 };

static struct units_text value_text(const struct stat_event *event)
{
	double mean = stats_mean(&event->value);

	if (!strcmp(event->unit, "ns"))
		return units_time((int64_t)mean);
	if (!strcmp(event->unit, "s"))
		return units_time((int64_t)(mean * 1e9));
	if (!strcmp(event->unit, "bytes"))
		return units_size((uint64_t)mean);
	return units_count((uint64_t)(mean + 0.5));
}

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

static bool ends_in(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && !strcmp(text + length - end_length, end);
}

static void note_ratio(struct note *note, const struct stat_event *event)
{
	if (isnan(event->ratio))
		return;
	if (!strcmp(event->name, "instructions"))
		note_add(note, units_ratio(event->ratio).text, "IPC");
	else if (!strcmp(event->ratio_of, "task-clock"))
		note_add(note, units_ratio(event->ratio).text, "GHz");
	else if (!strcmp(event->ratio_of, "wall-time"))
		note_add(note, units_ratio(event->ratio).text, "CPUs in use");
	else if (!strcmp(event->ratio_of, "cycles"))
		note_add(note, units_percent(event->ratio).text, "of cycles");
	else if (ends_in(event->name, "misses"))
		note_add(note, units_percent(event->ratio).text, "missed");
}

static void make_note(struct note *note, const struct stat_event *event)
{
	bool counts_cycles = !strcmp(event->unit, "cycles");

	if (!isnan(event->per_1k_instructions) && !counts_cycles &&
	    strcmp(event->name, "instructions") != 0)
		note_add(note, units_ratio(event->per_1k_instructions).text, "/1k instr");
	note_ratio(note, event);
}

static struct units_text spread_text(const struct stats *value)
{
	double mean = stats_mean(value);

	return units_percent(mean ? stats_stddev(value) / fabs(mean) : 0);
}

/* Columns that are there only if they say something. */
static bool has_spread(const struct stat_result *result)
{
	return result->runs > 1;
}

static bool has_coverage(const struct stat_result *result)
{
	for (size_t i = 0; i < result->nr_events; i++) {
		if (result->events[i].value.nr && result->events[i].status == PROFILE_SCALED)
			return true;
	}
	return false;
}

static void print_column_names(const struct stat_result *result, FILE *out)
{
	if (!has_spread(result) && !has_coverage(result))
		return;
	fprintf(out, "%*s", VALUE_WIDTH, has_spread(result) ? "mean" : "");
	if (has_spread(result))
		fprintf(out, "%*s", SPREAD_WIDTH, "std dev");
	if (has_coverage(result))
		fprintf(out, "%*s", COVERAGE_WIDTH, "counted");
	fputc('\n', out);
}

static void print_row(const struct stat_result *result, const struct stat_event *event, FILE *out)
{
	bool scaled = event->status == PROFILE_SCALED;
	struct note note = { 0 };

	make_note(&note, event);
	fprintf(out, "%*s", VALUE_WIDTH, value_text(event).text);
	if (has_spread(result))
		fprintf(out, "%*s", SPREAD_WIDTH, spread_text(&event->value).text);
	if (has_coverage(result))
		fprintf(out, "%*s", COVERAGE_WIDTH,
			scaled ? units_percent(event->coverage).text : "");
	if (note.length)
		fprintf(out, "  %-*s%s\n", NAME_WIDTH, event->name, note.text);
	else
		fprintf(out, "  %s\n", event->name);
}

/* Words of text, indented, in lines that fit. */
static void print_wrapped(const char *text, int indent, FILE *out)
{
	int column = 0;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column && column + 1 + length > COLUMNS) {
			fputc('\n', out);
			column = 0;
		}
		column += fprintf(out, "%*s%.*s", column ? 1 : indent, "", length, text);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static bool told_before(const struct stat_result *result, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (result->events[j].reason &&
		    !strcmp(result->events[j].reason, result->events[i].reason))
			return true;
	}
	return false;
}

static void print_reason(const struct stat_result *result, size_t first, FILE *out)
{
	const char *reason = result->events[first].reason;
	char list[1024];
	int length = snprintf(list, sizeof(list), "%s",
			      result->events[first].value.nr ? "stand-in:" : "not counted:");

	for (size_t i = first; i < result->nr_events; i++) {
		const struct stat_event *event = &result->events[i];

		if (event->reason && !strcmp(event->reason, reason) && length < (int)sizeof(list))
			length += snprintf(list + length, sizeof(list) - (size_t)length, "%s %s",
					   i > first ? "," : "", event->name);
	}
	fputc('\n', out);
	print_wrapped(list, 2, out);
	print_wrapped(reason, 6, out);
}

static void print_signal(int number, FILE *out)
{
	const char *name = sigabbrev_np(number);

	fprintf(out, "signal %d", number);
	if (name)
		fprintf(out, " (SIG%s)", name);
}

static void print_end(const struct stat_result *result, FILE *out)
{
	if (result->left_running)
		fprintf(out, "still running, pid %d", result->pid);
	else if (result->signal)
		print_signal(result->signal, out);
	else
		fprintf(out, "exit %d", result->exit_status);
}

static void print_heading(const struct stat_result *result, FILE *out)
{
	char *name = text_clean(result->arguments[0]);

	fprintf(out, "\n%s", name);
	free(name);
	for (char *const *word = result->arguments + 1; *word; word++) {
		char *clean = text_clean(*word);
		char *shown = text_clip(clean, 30);

		fprintf(out, " %s", shown);
		free(shown);
		free(clean);
	}
	fputs("\n  ", out);
	print_end(result, out);
	fprintf(out, " · %s", units_time((int64_t)(stats_mean(&result->wall_s) * 1e9)).text);
	if (result->runs > 1)
		fprintf(out, " (%s … %s) · %u runs",
			units_time((int64_t)(result->wall_s.min * 1e9)).text,
			units_time((int64_t)(result->wall_s.max * 1e9)).text, result->runs);
	if (result->user_only)
		fputs(" · hardware events of user code only", out);
	fputs("\n\n", out);
}

void text_print(const struct stat_result *result, FILE *out)
{
	print_heading(result, out);
	print_column_names(result, out);
	for (size_t i = 0; i < result->nr_events; i++) {
		if (result->events[i].value.nr)
			print_row(result, &result->events[i], out);
	}
	for (size_t i = 0; i < result->nr_events; i++) {
		if (result->events[i].reason && !told_before(result, i))
			print_reason(result, i, out);
	}
}
