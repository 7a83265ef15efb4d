/* SPDX-License-Identifier: MIT */
/*
 * welch - whether two series of measurements differ, and by how much.
 *
 *	struct welch w = welch_compare(&before, &after);
 *
 *	if (w.p < 0.05)
 *		say("changed by", w.difference, "give or take", w.error);
 *
 * Welch's t-test: for series that scatter differently and are of different length.  It takes the
 * means to be normally distributed, which for means of several runs they nearly are.
 */
#ifndef BASE_WELCH_H
#define BASE_WELCH_H

#include "base/stats.h"

struct welch {
	double difference; /* of the means: the second less the first */
	double error;	   /* half the width of its 95 % interval; NaN: under two values */
	double p;	   /* how likely so large a difference is if there is none; NaN likewise */
};

struct welch welch_compare(const struct stats *first, const struct stats *second);

/* Student's t distribution: the probability of more than t to either side, and the t that 5 % of
 * the values exceed to either side.  Degrees of freedom need not be whole. */
double welch_two_sided(double t, double degrees);
double welch_t95(double degrees);

#endif
