/* SPDX-License-Identifier: MIT */
#include "base/stats.h"

#include <math.h>

#define Z95 1.959963984540054

void stats_add(struct stats *stats, double value)
{
	double before = value - stats->mean;

	if (!stats->nr || value < stats->min)
		stats->min = value;
	if (!stats->nr || value > stats->max)
		stats->max = value;
	stats->nr++;
	stats->mean += before / (double)stats->nr;
	stats->squares += before * (value - stats->mean);
}

double stats_mean(const struct stats *stats)
{
	return stats->mean;
}

double stats_stddev(const struct stats *stats)
{
	if (stats->nr < 2)
		return 0;
	return sqrt(stats->squares / (double)(stats->nr - 1));
}

/* How many samples of equal weight would know the share as well. */
static double effective_samples(double p, double part_squares, double whole, double whole_squares)
{
	double variance =
		((1 - p) * (1 - p) * part_squares + p * p * (whole_squares - part_squares)) /
		(whole * whole);

	if (variance <= 0)
		return whole * whole / whole_squares;
	return p * (1 - p) / variance;
}

double stats_share_error(double part, double part_squares, double whole, double whole_squares)
{
	double p, n;

	if (whole <= 0 || whole_squares <= 0)
		return 0;

	p = part / whole;
	n = effective_samples(p, part_squares, whole, whole_squares);
	return Z95 / (1 + Z95 * Z95 / n) * sqrt(p * (1 - p) / n + Z95 * Z95 / (4 * n * n));
}
