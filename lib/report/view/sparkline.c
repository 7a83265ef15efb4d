/* SPDX-License-Identifier: MIT */
#include "report/view/sparkline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define MOST_BYTES 3 /* of a bar */

static const char *const bars[] = {
	" ",
	"\xe2\x96\x81",
	"\xe2\x96\x82",
	"\xe2\x96\x83",
	"\xe2\x96\x84",
	"\xe2\x96\x85",
	"\xe2\x96\x86",
	"\xe2\x96\x87",
	"\xe2\x96\x88",
};

/* How many columns a number has at least. */
static size_t repeat(const struct sparkline_scale *scale)
{
	return scale->nr < scale->width ? scale->width / scale->nr : 1;
}

size_t sparkline_columns(const struct sparkline_scale *scale)
{
	return scale->nr < scale->width ? scale->nr * repeat(scale) : scale->width;
}

size_t sparkline_column(const struct sparkline_scale *scale, size_t index)
{
	if (scale->nr < scale->width)
		return index * repeat(scale) + repeat(scale) / 2;
	return ((index + 1) * scale->width - 1) / scale->nr;
}

static double value_of(const double *numbers, size_t from, size_t to, enum sparkline_of of)
{
	double most = 0, sum = 0;

	for (size_t i = from; i < to; i++) {
		double number = numbers[i] > 0 ? numbers[i] : 0; /* NaN is not */

		most = number > most ? number : most;
		sum += number;
	}
	return of == SPARKLINE_MOST ? most : sum / (double)(to - from);
}

static void fill_columns(double *columns, size_t nr, const double *numbers,
			 const struct sparkline_scale *scale, enum sparkline_of of)
{
	for (size_t i = 0; i < nr; i++) {
		size_t from = i * scale->nr / nr, to = (i + 1) * scale->nr / nr;

		columns[i] = value_of(numbers, from, to > from ? to : from + 1, of);
	}
}

static size_t bar_of(double value, double most)
{
	size_t highest = ARRAY_SIZE(bars) - 1;
	double height = most > 0 ? ceil(value / most * (double)highest) : 0;

	return height < (double)highest ? (size_t)height : highest;
}

char *sparkline(const double *numbers, const struct sparkline_scale *scale, enum sparkline_of of)
{
	size_t nr = sparkline_columns(scale);
	double *columns = xcalloc(nr, sizeof(columns[0])), most = 0;
	char *line = xcalloc(nr + 1, MOST_BYTES), *end = line;

	fill_columns(columns, nr, numbers, scale, of);
	for (size_t i = 0; i < nr; i++)
		most = columns[i] > most ? columns[i] : most;
	for (size_t i = 0; i < nr; i++)
		end = stpcpy(end, bars[bar_of(columns[i], most)]);
	free(columns);
	return line;
}
