/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "stat/view.h"

static const char heading[] = "command,arguments,run,time_s,event,unit,status,runs,mean,stddev,"
			      "min,max,coverage,difference,error,p,reason\n";

/* A field and what is behind it. */
static void put_text(const char *text, const char *end, FILE *out)
{
	csv_put_text(text, out);
	fputs(end, out);
}

/* Empty if not known. */
static void put_number(double number, const char *end, FILE *out)
{
	if (!isnan(number))
		fprintf(out, "%.15g", number);
	fputs(end, out);
}

/* Or the pids of what ran already. */
static void put_arguments(const struct stat_command *command, FILE *out)
{
	char *const *words = command->arguments;
	size_t nr = 0;

	while (words[nr])
		nr++;
	csv_put_words((const char *const *)words, nr, ' ', out);
	for (size_t i = 0; i < command->nr_processes; i++)
		fprintf(out, "%s%d", i ? " " : "", command->processes[i].pid);
	fputc(',', out);
}

/* Up to the status. */
static void put_identity(const struct stat_result *result, size_t command,
			 const struct stat_interval *interval, const char *event, const char *unit,
			 FILE *out)
{
	fprintf(out, "%zu,", command + 1);
	put_arguments(&result->commands[command], out);
	put_number(interval ? interval->run + 1 : NAN, ",", out);
	put_number(interval ? interval->time_s : NAN, ",", out);
	put_text(event, ",", out);
	put_text(unit, ",", out);
}

static void put_series(const struct stats *series, FILE *out)
{
	bool any = series->nr > 0;

	fprintf(out, "%zu,", series->nr);
	put_number(any ? stats_mean(series) : NAN, ",", out);
	put_number(series->nr > 1 ? stats_stddev(series) : NAN, ",", out);
	put_number(any ? series->min : NAN, ",", out);
	put_number(any ? series->max : NAN, ",", out);
}

static const struct stat_difference *find_difference(const struct stat_result *result,
						     size_t command, const char *event)
{
	for (size_t i = 0; i < result->nr_differences; i++) {
		const struct stat_difference *difference = &result->differences[i];

		if (difference->command == command && !strcmp(difference->name, event))
			return difference;
	}
	return NULL;
}

/* To the end of the row. */
static void put_comparison(const struct stat_result *result, size_t command, const char *event,
			   const char *reason, FILE *out)
{
	const struct stat_difference *difference = find_difference(result, command, event);

	put_number(difference ? difference->welch.difference : NAN, ",", out);
	put_number(difference ? difference->welch.error : NAN, ",", out);
	put_number(difference ? difference->welch.p : NAN, ",", out);
	put_text(reason ? reason : "", "\n", out);
}

static void put_event(const struct stat_result *result, size_t command,
		      const struct stat_event *event, FILE *out)
{
	bool tried = event->status <= PROFILE_NOT_COUNTED;

	put_identity(result, command, NULL, event->name, event->unit, out);
	put_text(profile_status_name(event->status), ",", out);
	put_series(&event->value, out);
	put_number(tried ? event->coverage : NAN, ",", out);
	put_comparison(result, command, event->name, event->reason, out);
}

static void put_wall_time(const struct stat_result *result, size_t command, FILE *out)
{
	put_identity(result, command, NULL, "wall-time", "s", out);
	put_text(profile_status_name(PROFILE_COUNTED), ",", out);
	put_series(&result->commands[command].wall_s, out);
	put_number(1, ",", out);
	put_comparison(result, command, "wall-time", NULL, out);
}

void csv_print_interval(const struct stat_result *result, const struct stat_interval *interval,
			FILE *out)
{
	if (result->nr_intervals == 1)
		fputs(heading, out);
	for (size_t i = 0; i < result->nr_events; i++) {
		const struct stat_event *event = &result->commands[interval->command].events[i];
		const struct stat_count *count = &interval->counts[i];

		if (isnan(count->value))
			continue;
		put_identity(result, interval->command, interval, event->name, event->unit, out);
		put_text(profile_status_name(profile_status_of(count->coverage)), ",1,", out);
		put_number(count->value, ",,,,", out);
		put_number(count->coverage, ",,,,\n", out);
	}
}

void csv_print(const struct stat_result *result, size_t width, FILE *out)
{
	(void)width;
	if (!result->nr_intervals)
		fputs(heading, out);
	for (size_t i = 0; i < result->nr_commands; i++) {
		put_wall_time(result, i, out);
		for (size_t j = 0; j < result->nr_events; j++)
			put_event(result, i, &result->commands[i].events[j], out);
	}
}
