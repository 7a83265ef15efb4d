/* SPDX-License-Identifier: MIT */
#include "base/suggest.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static const char *const commands[] = { "record", "report", "stat", "symbolize", NULL };

Test(suggest, counts_edits)
{
	cr_expect(eq(u32, edit_distance("record", "record"), 0));
	cr_expect(eq(u32, edit_distance("recrd", "record"), 1));
	cr_expect(eq(u32, edit_distance("recoord", "record"), 1));
	cr_expect(eq(u32, edit_distance("rekord", "record"), 1));
	cr_expect(eq(u32, edit_distance("", "stat"), 4));
	cr_expect(eq(u32, edit_distance("kitten", "sitting"), 3));
}

Test(suggest, counts_a_swap_of_neighbours_as_one_edit)
{
	cr_expect(eq(u32, edit_distance("rceord", "record"), 1));
}

Test(suggest, finds_the_closest)
{
	cr_expect(eq(str, suggest("rceord", commands), "record"));
	cr_expect(eq(str, suggest("repotr", commands), "report"));
	cr_expect(eq(str, suggest("stats", commands), "stat"));
	cr_expect(eq(str, suggest("symbolise", commands), "symbolize"));
}

Test(suggest, completes_a_beginning)
{
	cr_expect(eq(str, suggest("sym", commands), "symbolize"));
	cr_expect(eq(str, suggest("rep", commands), "report"));
}

Test(suggest, stays_silent_when_nothing_comes_close)
{
	cr_expect(eq(ptr, (void *)suggest("frobnicate", commands), NULL));
	cr_expect(eq(ptr, (void *)suggest("x", commands), NULL));
	cr_expect(eq(ptr, (void *)suggest("", commands), NULL));
}

Test(suggest, cuts_words_that_are_too_long)
{
	char word[200];

	memset(word, 'a', sizeof(word));
	word[199] = '\0';
	cr_expect(eq(u32, edit_distance(word, ""), 63));
	cr_expect(eq(ptr, (void *)suggest(word, commands), NULL));
}
