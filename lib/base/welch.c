/* SPDX-License-Identifier: MIT */
#include "base/welch.h"

#include <math.h>

enum { FRACTION_TERMS = 300, HALVINGS = 60 };

static const double tiny = 1e-300, close_enough = 1e-15;

static double not_zero(double value)
{
	return fabs(value) < tiny ? tiny : value;
}

/* The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), h = d;

	for (int m = 1; m <= FRACTION_TERMS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factor;

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		h *= d * c;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		factor = d * c;
		h *= factor;
		if (fabs(factor - 1) < close_enough)
			break;
	}
	return h;
}

/* The regularized incomplete beta function I_x(a, b). */
static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x > 0;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double welch_two_sided(double t, double degrees)
{
	return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double welch_t95(double degrees)
{
	double low = 0, high = 1;

	while (welch_two_sided(high, degrees) > 0.05)
		high *= 2;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (welch_two_sided(middle, degrees) > 0.05)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The variance of the mean. */
static double mean_variance(const struct stats *stats)
{
	double deviation = stats_stddev(stats);

	return deviation * deviation / (double)stats->nr;
}

struct welch welch_compare(const struct stats *first, const struct stats *second)
{
	struct welch result = { stats_mean(second) - stats_mean(first), NAN, NAN };
	double a, b, degrees;

	if (first->nr < 2 || second->nr < 2)
		return result;
	a = mean_variance(first);
	b = mean_variance(second);
	if (a + b <= 0) {
		result.error = 0;
		result.p = result.difference == 0;
		return result;
	}
	degrees = (a + b) * (a + b) /
		  (a * a / (double)(first->nr - 1) + b * b / (double)(second->nr - 1));
	result.error = welch_t95(degrees) * sqrt(a + b);
	result.p = welch_two_sided(result.difference / sqrt(a + b), degrees);
	return result;
}
