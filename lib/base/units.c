/* SPDX-License-Identifier: MIT */
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"

struct scale {
	const char *suffix;
	double factor;
};

static const struct scale size_scales[] = {
	{ "", 1 },	   { "B", 1 },	      { "K", 0x1p10 },	 { "KB", 0x1p10 },
	{ "KiB", 0x1p10 }, { "M", 0x1p20 },   { "MB", 0x1p20 },	 { "MiB", 0x1p20 },
	{ "G", 0x1p30 },   { "GB", 0x1p30 },  { "GiB", 0x1p30 }, { "T", 0x1p40 },
	{ "TB", 0x1p40 },  { "TiB", 0x1p40 },
};

static const struct scale time_scales[] = {
	{ "", 1e9 }, { "s", 1e9 },  { "ms", 1e6 },   { "us", 1e3 },
	{ "ns", 1 }, { "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 },
};

/* Only plain decimal numbers: strtod() alone would also take "inf", "0x1p3" and " 1". */
static int parse_number(const char **text, double *number)
{
	size_t length = strspn(*text, "0123456789.");
	char *end;

	if (!isdigit((unsigned char)(*text)[**text == '.']))
		return -1;
	*number = strtod(*text, &end);
	if (end != *text + length)
		return -1;
	*text = end + (*end == ' ');
	return 0;
}

static int parse_scaled(const char *text, const struct scale *scales, size_t nr, double *value)
{
	double number;

	if (parse_number(&text, &number) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		if (strcasecmp(text, scales[i].suffix) != 0)
			continue;
		*value = number * scales[i].factor;
		return 0;
	}
	return -1;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	double value;

	if (parse_scaled(text, size_scales, ARRAY_SIZE(size_scales), &value) < 0 || value >= 0x1p63)
		return -1;
	*bytes = (uint64_t)value;
	return 0;
}

int units_parse_duration(const char *text, int64_t *duration_ns)
{
	double value;

	if (parse_scaled(text, time_scales, ARRAY_SIZE(time_scales), &value) < 0 || value >= 0x1p63)
		return -1;
	*duration_ns = (int64_t)value;
	return 0;
}

struct units_text units_size(uint64_t bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct units_text result;
	double value = (double)bytes / 1024;
	size_t i = 0;

	if (bytes < 1024) {
		snprintf(result.text, sizeof(result.text), "%u B", (unsigned int)bytes);
		return result;
	}
	/* 1023.95 would be printed as 1024.0 */
	for (; value >= 1023.95 && i < ARRAY_SIZE(names) - 1; i++)
		value /= 1024;
	snprintf(result.text, sizeof(result.text), "%.1f %s", value, names[i]);
	return result;
}

/* Digits after the point that leave three in all. */
static int decimals(double value)
{
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

static struct units_text minutes(double seconds)
{
	struct units_text result;
	long whole = lround(seconds);

	if (whole < 3600)
		snprintf(result.text, sizeof(result.text), "%ld m %02ld s", whole / 60, whole % 60);
	else
		snprintf(result.text, sizeof(result.text), "%ld h %02ld m", whole / 3600,
			 whole / 60 % 60);
	return result;
}

struct units_text units_time(int64_t duration_ns)
{
	static const char *const names[] = { "us", "ms", "s" };
	struct units_text result;
	double value = (double)duration_ns / 1000;
	size_t i = 0;

	if (duration_ns < 1000) {
		snprintf(result.text, sizeof(result.text), "%d ns", (int)duration_ns);
		return result;
	}
	if (duration_ns >= INT64_C(99500000000))
		return minutes((double)duration_ns / 1e9);
	for (; value >= 999.5 && i < ARRAY_SIZE(names) - 1; i++)
		value /= 1000;
	snprintf(result.text, sizeof(result.text), "%.*f %s", decimals(value), value, names[i]);
	return result;
}

struct units_text units_seconds(double duration_s)
{
	double most = 0x1p63 - 1024; /* the largest double that is an int64_t */

	return units_time((int64_t)fmin(fmax(duration_s * 1e9, -most), most));
}

struct units_text units_count(uint64_t count)
{
	struct units_text result;
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t out = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			result.text[out++] = ',';
		result.text[out++] = digits[i];
	}
	result.text[out] = '\0';
	return result;
}

struct units_text units_short(double count)
{
	static const char *const names[] = { "k", "M", "G", "T", "P" };
	struct units_text result;
	double value = count / 1000;
	size_t i = 0;

	if (count < 999.5) {
		snprintf(result.text, sizeof(result.text), "%.0f", count);
		return result;
	}
	for (; value >= 999.5 && i < ARRAY_SIZE(names) - 1; i++)
		value /= 1000;
	snprintf(result.text, sizeof(result.text), "%.*f %s", decimals(value), value, names[i]);
	return result;
}

struct units_text units_percent(double share)
{
	struct units_text result;
	double percent = share * 100;

	if (percent > 0 && percent < 0.05)
		snprintf(result.text, sizeof(result.text), "<0.1 %%");
	else
		snprintf(result.text, sizeof(result.text), "%.*f %%",
			 percent > 0 && percent < 99.95 ? 1 : 0, percent);
	return result;
}

struct units_text units_ratio(double ratio)
{
	struct units_text result;

	if (ratio > 0 && ratio < 0.005)
		snprintf(result.text, sizeof(result.text), "<0.01");
	else
		snprintf(result.text, sizeof(result.text), "%.*f", decimals(ratio), ratio);
	return result;
}
