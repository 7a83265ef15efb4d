/* SPDX-License-Identifier: MIT */
#include "store/histogram_text.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

static char *text_of(const struct profile_class *classes, size_t nr)
{
	return histogram_text(&(struct profile_histogram){ classes, nr });
}

Test(histogram_text, is_an_array_of_bounds_and_numbers)
{
	const struct profile_class classes[] = { { 16, 3 },
						 { 64, UINT64_MAX },
						 { UINT64_MAX, 20 } };
	char *none = text_of(NULL, 0), *all = text_of(classes, 3);

	cr_assert(eq(str, none, "[]"));
	cr_assert(eq(str, all, "[[16,3],[64,18446744073709551615],[null,20]]"));
	free(none);
	free(all);
}

Test(histogram_text, is_read_as_it_was_written)
{
	const struct profile_class classes[] = { { 1, UINT64_MAX - 1 }, { UINT64_MAX, 1 } };
	struct profile_histogram read = { 0 };
	struct arena arena = { 0 };
	char *text = text_of(classes, 2);

	cr_assert_null(histogram_read(&read, text, &arena));
	cr_assert_eq(read.nr, 2);
	cr_assert_arr_eq(read.at, classes, sizeof(classes));
	free(text);
	arena_release(&arena);
}

Test(histogram_text, is_refused_if_it_is_anything_else)
{
	static const char *const wrong[] = {
		"",
		"[",
		"[]]",
		"[] ",
		"[[1,2]",
		"[1,2]",
		"[[1]]",
		"[[1,2],]",
		"[,[1,2]]",
		"[[1,2][2,3]]",
		"[[-1,2]]",
		"[[1,null]]",
		"[[1,]]",
		"[[2,1],[1,1]]",
		"[[1,1],[1,1]]",
		"[[null,1],[1,1]]",
		"[[1,18446744073709551616]]",
		"[[1.5,2]]",
		"[[1, 2]]",
	};
	struct arena arena = { 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct profile_histogram read = { 0 };

		cr_expect_not_null(histogram_read(&read, wrong[i], &arena), "%s", wrong[i]);
		cr_expect_eq(read.nr, 0);
	}
	arena_release(&arena);
}
