/* SPDX-License-Identifier: MIT */
#include "stat/partner.h"

#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static const char *partner(const char *name)
{
	static char *last;

	free(last);
	last = partner_of(name);
	return last ? last : "none";
}

Test(partner, misses_go_by_what_they_missed_in)
{
	cr_expect(eq(str, partner("branch-misses"), "branches"));
	cr_expect(eq(str, partner("LLC-load-misses"), "LLC-loads"));
	cr_expect(eq(str, partner("L1-dcache-prefetch-misses"), "L1-dcache-prefetches"));
}

Test(partner, has_the_same_modifiers)
{
	char *instructions = partner_instructions("cache-misses:u");

	cr_expect(eq(str, partner("instructions:k"), "cycles:k"));
	cr_expect(eq(str, partner("dTLB-store-misses:u"), "dTLB-stores:u"));
	cr_expect(eq(str, instructions, "instructions:u"));
	free(instructions);
}

Test(partner, many_events_have_none)
{
	static const char *const names[] = { "cycles", "page-faults",		"instruction",
					     "r01c2",  "cpu/event=1,umask=2/u", "-load-misses" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect(eq(str, partner(names[i]), "none"), "%s", names[i]);
}
