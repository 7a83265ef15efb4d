/* SPDX-License-Identifier: MIT */
/*
 * stats - mean and spread of repeated measurements, and the error of a sampled share.
 *
 *	struct stats wall = { 0 };
 *
 *	stats_add(&wall, 1.21);
 *	stats_add(&wall, 1.24);
 *	use(stats_mean(&wall), stats_stddev(&wall), wall.min, wall.max);
 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stddef.h>

struct stats {
	size_t nr;
	double mean, squares; /* Welford's: exact also for large values close together */
	double min, max;
};

void stats_add(struct stats *stats, double value);
double stats_mean(const struct stats *stats);
/* Of the sample (divisor nr - 1); 0 for fewer than two values. */
double stats_stddev(const struct stats *stats);

/*
 * Half the width of the 95 % interval (Wilson's) of part / whole, where both are sums of the
 * weights of samples, and the squares those of their squares.  For n samples of equal weight and
 * a share p far from 0 and 1 that is 1.96 * sqrt(p * (1 - p) / n); near 0 and 1 it does not
 * vanish as that formula does.
 */
double stats_share_error(double part, double part_squares, double whole, double whole_squares);

#endif
