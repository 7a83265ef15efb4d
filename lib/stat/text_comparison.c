/* SPDX-License-Identifier: MIT */
#include "stat/text_comparison.h"

#include <math.h>

#include "stat/values.h"
#include "stat/wrap.h"

enum { VALUE_WIDTH = 14, NAME_WIDTH = 24, CHANGE_WIDTH = 10, ERROR_WIDTH = 12 };
enum {
	NARROWEST = 2 + NAME_WIDTH + CHANGE_WIDTH + ERROR_WIDTH + 4,
	WITH_ONE = NARROWEST + VALUE_WIDTH,
	WITH_BOTH = WITH_ONE + VALUE_WIDTH,
};

/* Values for which there is room beside the change. */
struct columns {
	bool first, second;
};

static struct columns columns_of(size_t width)
{
	return (struct columns){ .first = !width || width >= WITH_BOTH,
				 .second = !width || width >= WITH_ONE };
}

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

static void print_value(double value, const char *unit, FILE *out)
{
	fprintf(out, "%*s", VALUE_WIDTH, values_text(value, unit).text);
}

static void print_difference(const struct stat_difference *difference, struct columns columns,
			     FILE *out)
{
	bool chance = !isnan(difference->welch.p) && !stat_is_significant(difference);

	fprintf(out, "  %-*s", NAME_WIDTH, difference->name);
	if (columns.first)
		print_value(difference->first, difference->unit, out);
	if (columns.second)
		print_value(difference->second, difference->unit, out);
	fprintf(out, "%*s", CHANGE_WIDTH, change_text(difference).text);
	fprintf(out, "%-*s%s\n", chance ? ERROR_WIDTH : 0, error_text(difference).text,
		chance ? " ~" : "");
}

static void print_heading(size_t command, struct columns columns, FILE *out)
{
	fputc('\n', out);
	text_print_label(command, out);
	fprintf(out, " against A%*s", NAME_WIDTH - 9, "");
	if (columns.first)
		fprintf(out, "%*s", VALUE_WIDTH, "A");
	if (columns.second) {
		fprintf(out, "%*s", VALUE_WIDTH - 1, "");
		text_print_label(command, out);
	}
	fputs("    change (95 % interval)\n", out);
}

void text_print_comparison(const struct stat_result *result, size_t width, FILE *out)
{
	struct columns columns = columns_of(width);
	size_t command = 0;

	for (size_t i = 0; i < result->nr_differences; i++) {
		const struct stat_difference *difference = &result->differences[i];

		if (difference->command != command) {
			command = difference->command;
			print_heading(command, columns, out);
		}
		print_difference(difference, columns, out);
	}
	if (!result->nr_differences)
		return;
	fputc('\n', out);
	wrap_print("~: may well be chance (Welch's t-test, p is 0.05 or more)", 2, width, out);
}
