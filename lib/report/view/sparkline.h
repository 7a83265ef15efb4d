/* SPDX-License-Identifier: MIT */
/*
 * sparkline - numbers as a line of bars, each a character.
 *
 *	struct sparkline_scale scale = { .nr = 300, .width = 74 };
 *	char *line = sparkline(numbers, &scale, SPARKLINE_MOST);	// free it
 *	column = sparkline_column(&scale, peak_index);
 *
 * Where there are more numbers than columns, a column shows the most, or the mean, of its numbers;
 * where there are fewer, each gets several columns.  0 and what is not known (NaN) are blank; the
 * highest bar is the largest column.
 */
#ifndef REPORT_VIEW_SPARKLINE_H
#define REPORT_VIEW_SPARKLINE_H

#include <stddef.h>

enum sparkline_of { SPARKLINE_MOST, SPARKLINE_MEAN };

struct sparkline_scale {
	size_t nr, width; /* of numbers; in columns; neither is 0 */
};

size_t sparkline_columns(const struct sparkline_scale *scale);
/* The column in which the number with this index is. */
size_t sparkline_column(const struct sparkline_scale *scale, size_t index);
char *sparkline(const double *numbers, const struct sparkline_scale *scale, enum sparkline_of of);

#endif
