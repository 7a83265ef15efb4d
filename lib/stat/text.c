/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "stat/view.h"

enum { COLUMNS = 80, VALUE_WIDTH = 18, NAME_WIDTH = 24 };

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

static void note_ratio(struct note *note, const struct stat_event *event)
{
	char meaning[64];

	if (isnan(event->ratio))
		return;
	if (!strcmp(event->name, "instructions")) {
		note_add(note, units_ratio(event->ratio).text, "IPC");
	} else if (!strcmp(event->ratio_of, "task-clock")) {
		note_add(note, units_ratio(event->ratio).text, "GHz");
	} else if (!strcmp(event->ratio_of, "wall-time")) {
		note_add(note, units_ratio(event->ratio).text, "CPUs in use");
	} else {
		snprintf(meaning, sizeof(meaning), "of %s", event->ratio_of);
		note_add(note, units_percent(event->ratio).text, meaning);
	}
}

static bool is_anchor(const struct stat_event *event)
{
	return !strcmp(event->name, "cycles") || !strcmp(event->name, "instructions");
}

static void note_ratios(struct note *note, const struct stat_event *event)
{
	if (!isnan(event->per_1k_instructions) && !is_anchor(event))
		note_add(note, units_ratio(event->per_1k_instructions).text, "/1k instr");
	note_ratio(note, event);
	if (event->status == PROFILE_SCALED)
		note_add(note, units_percent(event->coverage).text, "of the time counted");
}

static void note_spread(struct note *note, const struct stats *value)
{
	double mean = stats_mean(value), share = mean ? stats_stddev(value) / fabs(mean) : 0;
	char text[64];

	if (value->nr < 2)
		return;
	snprintf(text, sizeof(text), "± %s", units_percent(share).text);
	note_add(note, text, "");
}

static void print_row(const struct stat_event *event, FILE *out)
{
	struct note note = { 0 };

	note_ratios(&note, event);
	note_spread(&note, &event->value);
	fprintf(out, "%*s  ", VALUE_WIDTH, value_text(event).text);
	if (note.length)
		fprintf(out, "%-*s%s\n", NAME_WIDTH, event->name, note.text);
	else
		fprintf(out, "%s\n", event->name);
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
		fprintf(out, " (%s … %s) · mean of %u runs ± standard deviation",
			units_time((int64_t)(result->wall_s.min * 1e9)).text,
			units_time((int64_t)(result->wall_s.max * 1e9)).text, result->runs);
	if (result->user_only)
		fputs(" · hardware events of user code only", out);
	fputs("\n\n", out);
}

void text_print(const struct stat_result *result, FILE *out)
{
	print_heading(result, out);
	for (size_t i = 0; i < result->nr_events; i++) {
		if (result->events[i].value.nr)
			print_row(&result->events[i], out);
	}
	for (size_t i = 0; i < result->nr_events; i++) {
		if (result->events[i].reason && !told_before(result, i))
			print_reason(result, i, out);
	}
}
