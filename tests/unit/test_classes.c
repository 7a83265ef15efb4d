/* SPDX-License-Identifier: MIT */
#include "store/classes.h"

#include <criterion/criterion.h>

Test(classes, of_sizes_are_powers_of_two_from_16_on)
{
	unsigned int class = 0;

	for (uint64_t bytes = 0; bytes < 100000; bytes++) {
		while (bytes > size_class_most(class))
			class ++;
		cr_assert_eq(size_class(bytes), class, "%lu", (unsigned long)bytes);
	}
	cr_assert_eq(size_class((UINT64_C(1) << 48) - 1), SIZE_CLASSES - 1);
}

static unsigned int by_search(uint64_t ns)
{
	uint64_t below = 1000;
	unsigned int class = 0;

	for (; class < LIFETIME_CLASSES - 1 && ns >= below; below *= 10)
		class ++;
	return class;
}

Test(classes, of_lifetimes_are_powers_of_ten_from_a_microsecond_on)
{
	for (uint64_t bit = 1; bit; bit <<= 1)
		for (uint64_t ns = bit - 1; ns <= bit + 1; ns++)
			cr_assert_eq(lifetime_class(ns), by_search(ns), "%lu", (unsigned long)ns);
	for (uint64_t power = 1; power < UINT64_C(1000000000000000); power *= 10)
		for (uint64_t ns = power - 1; ns <= power + 1; ns++)
			cr_assert_eq(lifetime_class(ns), by_search(ns), "%lu", (unsigned long)ns);
	cr_assert_eq(lifetime_class(UINT64_MAX), LIFETIME_CLASSES - 1);
}

Test(classes, of_lifetimes_know_their_bounds)
{
	cr_assert_eq(lifetime_class_below_us(0), 1);
	cr_assert_eq(lifetime_class_below_us(5), 100000);
	cr_assert_eq(lifetime_class_below_us(LIFETIME_CLASSES - 1), LIFETIME_UNBOUNDED);
}
