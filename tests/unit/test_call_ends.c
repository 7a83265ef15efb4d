/* SPDX-License-Identifier: MIT */
#include "record/stops/call_ends.h"

#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

/* Samples of 1 us, of which the kernel has so much. */
static struct call_ends ends_of(unsigned int at_end, unsigned int elsewhere, uint64_t kernel_ns)
{
	struct call_thread thread = { 0 };
	struct call_ends ends = { 0 };
	uint64_t before_ns = 123456;

	call_ends_add(&ends, &thread, &(struct call_sample){ true, 99999, before_ns });
	for (unsigned int i = 0; i < at_end + elsewhere; i++)
		call_ends_add(&ends, &thread,
			      &(struct call_sample){ .at_end = i < at_end,
						     .used_ns = 1000,
						     .kernel_ns = before_ns += kernel_ns });
	return ends;
}

Test(call_ends, have_more_than_the_kernel)
{
	struct call_ends ends = ends_of(80, 20, 350);
	char *text = call_ends_text(&ends);

	cr_assert(ne(ptr, text, NULL));
	cr_expect(eq(
		str, text,
		"samples at the end of a system call have 80.0 % of the CPU time, but the kernel "
		"35.0 %: short calls may have more than their share"));
	cr_expect(eq(u64, ends.nr_at_end, 80));
	free(text);
}

Test(call_ends, are_said_nothing_of_where_the_kernel_has_as_much)
{
	struct call_ends whole = ends_of(100, 0, 950), faults = ends_of(40, 60, 600);

	cr_expect(eq(ptr, call_ends_text(&whole), NULL));
	cr_expect(eq(ptr, call_ends_text(&faults), NULL));
}

Test(call_ends, are_said_nothing_of_where_they_are_few)
{
	struct call_ends few = ends_of(29, 1, 0), none = { 0 };

	cr_expect(eq(ptr, call_ends_text(&few), NULL));
	cr_expect(eq(ptr, call_ends_text(&none), NULL));
}
