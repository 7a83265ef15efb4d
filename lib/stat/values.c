/* SPDX-License-Identifier: MIT */
#include "stat/values.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct units_text other_unit(double value, const char *unit)
{
	struct units_text text;

	snprintf(text.text, sizeof(text.text), "%.4g %s", value, unit);
	return text;
}

/* In its unit, if that is none of counts. */
static bool has_unit(double value, const char *unit, struct units_text *text)
{
	if (!strcmp(unit, "ns"))
		*text = units_time((int64_t)value);
	else if (!strcmp(unit, "s"))
		*text = units_seconds(value);
	else if (!strcmp(unit, "bytes"))
		*text = units_size((uint64_t)value);
	else if (*unit && strcmp(unit, "cycles") != 0)
		*text = other_unit(value, unit);
	else
		return false;
	return true;
}

/* The mean of a few small counts. */
static bool has_fraction(double value)
{
	return value < 999.5 && value != floor(value);
}

struct units_text values_text(double value, const char *unit)
{
	struct units_text text;

	if (has_unit(value, unit, &text))
		return text;
	return has_fraction(value) ? units_ratio(value) : units_count((uint64_t)(value + 0.5));
}

struct units_text values_short(double value, const char *unit)
{
	struct units_text text;

	if (has_unit(value, unit, &text))
		return text;
	return has_fraction(value) ? units_ratio(value) : units_short(value);
}
