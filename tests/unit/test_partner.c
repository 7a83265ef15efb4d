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
	cr_expect(eq(str, partner("instructions:k"), "cycles:k"));
	cr_expect(eq(str, partner("dTLB-store-misses:u"), "dTLB-stores:u"));
}

static const char *instructions(const char *name)
{
	static char *last;

	free(last);
	return last = partner_instructions(name);
}

Test(partner, instructions_are_of_the_same_code)
{
	cr_expect(eq(str, instructions("page-faults"), "instructions"));
	cr_expect(eq(str, instructions("cache-misses:u"), "instructions:u"));
	cr_expect(eq(str, instructions("cpu/event=1,umask=2/"), "instructions"));
	cr_expect(eq(str, instructions("cpu/event=1/k"), "instructions:k"));
	cr_expect(eq(str, instructions("cpu/event=1/:u"), "instructions:u"));
}

Test(partner, many_events_have_none)
{
	static const char *const names[] = { "cycles", "page-faults",		"instruction",
					     "r01c2",  "cpu/event=1,umask=2/u", "-load-misses" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect(eq(str, partner(names[i]), "none"), "%s", names[i]);
}
