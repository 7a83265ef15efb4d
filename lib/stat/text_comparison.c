/* SPDX-License-Identifier: MIT */
#include "stat/text_comparison.h"

#include <math.h>

#include "stat/values.h"

enum { VALUE_WIDTH = 14, NAME_WIDTH = 24, ERROR_WIDTH = 12 };

/* Commands of a comparison are called A, B, ...; after Z it is numbers. */
void text_print_label(size_t command, FILE *out)
{
	if (command < 26)
		fprintf(out, "%c", (int)('A' + command));
	else
		fprintf(out, "%zu", command + 1);
}

/* "-9.1 %", and of what was 0 before how much more it is. */
static struct units_text change_text(const struct stat_difference *difference)
{
	double first = fabs(difference->first), change = difference->welch.difference;
	struct units_text text;

	if (first > 0)
		snprintf(text.text, sizeof(text.text), "%+.1f %%", 100 * change / first);
	else
		snprintf(text.text, sizeof(text.text), "%s%.20s", change < 0 ? "-" : "+",
			 values_short(fabs(change), difference->unit).text);
	return text;
}

static struct units_text error_text(const struct stat_difference *difference)
{
	double first = fabs(difference->first), error = difference->welch.error;
	struct units_text text = { "" };

	if (isnan(error))
		return text;
	if (first > 0)
		snprintf(text.text, sizeof(text.text), " ± %.1f %%", 100 * error / first);
	else
		snprintf(text.text, sizeof(text.text), " ± %.20s",
			 values_short(error, difference->unit).text);
	return text;
}

static void print_difference(const struct stat_difference *difference, FILE *out)
{
	bool chance = !isnan(difference->welch.p) && !stat_is_significant(difference);

	fprintf(out, "  %-*s%*s%*s%10s", NAME_WIDTH, difference->name, VALUE_WIDTH,
		values_text(difference->first, difference->unit).text, VALUE_WIDTH,
		values_text(difference->second, difference->unit).text,
		change_text(difference).text);
	fprintf(out, "%-*s%s\n", chance ? ERROR_WIDTH : 0, error_text(difference).text,
		chance ? " ~" : "");
}

static void print_heading(size_t command, FILE *out)
{
	fputc('\n', out);
	text_print_label(command, out);
	fprintf(out, " against A%*s%*s", NAME_WIDTH + VALUE_WIDTH - 8, "A", VALUE_WIDTH - 1, "");
	text_print_label(command, out);
	fputs("    change (95 % interval)\n", out);
}

void text_print_comparison(const struct stat_result *result, FILE *out)
{
	size_t command = 0;

	for (size_t i = 0; i < result->nr_differences; i++) {
		const struct stat_difference *difference = &result->differences[i];

		if (difference->command != command) {
			command = difference->command;
			print_heading(command, out);
		}
		print_difference(difference, out);
	}
	if (result->nr_differences)
		fputs("\n  ~: may well be chance (Welch's t-test, p is 0.05 or more)\n", out);
}
