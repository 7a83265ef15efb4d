/* SPDX-License-Identifier: MIT */
#include "stat/values.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#define same(made, expected) cr_expect(eq(str, (made).text, (char *)(expected)))

Test(values, counts_are_whole_where_they_are)
{
	same(values_text(0, ""), "0");
	same(values_text(2, ""), "2");
	same(values_text(18204113, ""), "18,204,113");
	same(values_short(2, "cycles"), "2");
	same(values_short(18204113, "cycles"), "18.2 M");
}

Test(values, a_small_mean_keeps_its_fraction)
{
	same(values_text(2.4, ""), "2.40");
	same(values_text(0.001, ""), "<0.01");
	same(values_text(48.25, ""), "48.2");
	same(values_text(999.7, ""), "1,000");
	same(values_text(18204113.5, ""), "18,204,114");
	same(values_short(0.4, ""), "0.40");
}

Test(values, other_units_are_theirs)
{
	same(values_text(4.21e6, "ns"), "4.21 ms");
	same(values_text(1.5, "s"), "1.50 s");
	same(values_text(65536, "bytes"), "64.0 KiB");
	same(values_text(12.5, "Joules"), "12.5 Joules");
}
