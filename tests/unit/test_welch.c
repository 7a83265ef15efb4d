/* SPDX-License-Identifier: MIT */
#include "base/welch.h"

#include <math.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/* From the tables in the back of any textbook. */
Test(welch, t95_is_that_of_the_tables)
{
	static const struct {
		double degrees, t;
	} table[] = { { 1, 12.706 }, { 2, 4.303 },  { 3, 3.182 },   { 5, 2.571 },
		      { 10, 2.228 }, { 30, 2.042 }, { 120, 1.980 }, { 1e6, 1.960 } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_expect(epsilon_eq(dbl, welch_t95(table[i].degrees), table[i].t, 0.0006),
			  "%g degrees", table[i].degrees);
}

/* With one and two degrees of freedom the distribution has a closed form. */
Test(welch, two_sided_is_the_closed_form)
{
	for (double t = 0.01; t < 1000; t *= 3) {
		cr_expect(epsilon_eq(dbl, welch_two_sided(t, 1), 1 - 2 / M_PI * atan(t), 1e-12));
		cr_expect(epsilon_eq(dbl, welch_two_sided(-t, 2), 1 - t / sqrt(2 + t * t), 1e-12));
	}
}

static struct stats series(const double *values, size_t nr)
{
	struct stats stats = { 0 };

	for (size_t i = 0; i < nr; i++)
		stats_add(&stats, values[i]);
	return stats;
}

/* The examples of the Wikipedia article on Welch's t-test: p is 0.021, 0.149 and 0.036 there. */
Test(welch, published_examples)
{
	static const double a1[] = { 27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
				     21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4 };
	static const double a2[] = { 27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
				     24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4 };
	static const double b1[] = { 17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8 };
	static const double b2[] = { 21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8,
				     20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8 };
	static const double c1[] = { 19.8, 20.4, 19.6, 17.8, 18.5, 18.9, 18.3, 18.9, 19.5, 22.0 };
	static const double c2[] = { 28.2, 26.6, 20.1, 23.3, 25.2, 22.1, 17.7, 27.6, 20.6, 13.7,
				     23.2, 17.5, 20.6, 18.0, 23.9, 21.6, 24.3, 20.4, 24.0, 13.2 };
	struct stats s[] = { series(a1, 15), series(a2, 15), series(b1, 10),
			     series(b2, 20), series(c1, 10), series(c2, 20) };

	cr_expect(epsilon_eq(dbl, welch_compare(&s[0], &s[1]).p, 0.021, 0.0006));
	cr_expect(epsilon_eq(dbl, welch_compare(&s[2], &s[3]).p, 0.149, 0.0006));
	cr_expect(epsilon_eq(dbl, welch_compare(&s[4], &s[5]).p, 0.036, 0.0006));
}

/* The interval excludes 0 exactly if p is below 0.05. */
Test(welch, interval_and_p_agree)
{
	static const double first[] = { 10, 11, 9, 10.5 };

	for (double shift = 0; shift < 4; shift += 0.1) {
		const double second[] = { 10 + shift, 12 + shift, 8 + shift };
		struct stats a = series(first, 4), b = series(second, 3);
		struct welch w = welch_compare(&a, &b);

		cr_expect(eq(int, fabs(w.difference) > w.error, w.p < 0.05), "shift %g", shift);
	}
}

Test(welch, one_value_says_nothing)
{
	static const double values[] = { 1, 2, 3 };
	struct stats one = series(values, 1), three = series(values, 3);
	struct welch w = welch_compare(&one, &three);

	cr_expect(eq(dbl, w.difference, 1));
	cr_expect(isnan(w.error) && isnan(w.p));
}

Test(welch, counts_that_never_vary_differ_or_do_not)
{
	static const double five[] = { 5, 5, 5 }, six[] = { 6, 6, 6 };
	struct stats a = series(five, 3), b = series(six, 3);

	cr_expect(eq(dbl, welch_compare(&a, &b).p, 0));
	cr_expect(eq(dbl, welch_compare(&a, &b).error, 0));
	cr_expect(eq(dbl, welch_compare(&a, &a).p, 1));
}
