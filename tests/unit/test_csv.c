/* SPDX-License-Identifier: MIT */
#include "base/csv.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

static char *written;
static size_t size;
static FILE *out;

static void open_out(void)
{
	out = open_memstream(&written, &size);
}

static const char *text(void)
{
	fflush(out);
	return written;
}

static void close_out(void)
{
	fclose(out);
	free(written);
}

TestSuite(csv, .init = open_out, .fini = close_out);

Test(csv, plain_text_stays_as_it_is)
{
	csv_put_text("std::vector<int>; 'a' b", out);
	cr_assert(eq(str, (char *)text(), "std::vector<int>; 'a' b"));
}

Test(csv, text_with_a_comma_a_quote_or_the_end_of_a_line_is_quoted)
{
	csv_put_text("f(int, \"x\")\n", out);
	csv_put_text("\r", out);
	cr_assert(eq(str, (char *)text(), "\"f(int, \"\"x\"\")\n\"\"\r\""));
}

Test(csv, bytes_that_are_no_text_become_replacement_characters)
{
	csv_put_text("a\xff", out);
	cr_assert(eq(str, (char *)text(), "a\xef\xbf\xbd"));
}

Test(csv, words_are_one_field)
{
	const char *const words[] = { "./app", "--sizes", "1,2" };

	csv_put_words(words, 3, ' ', out);
	cr_assert(eq(str, (char *)text(), "\"./app --sizes 1,2\""));
}

Test(csv, no_words_are_an_empty_field)
{
	csv_put_words(NULL, 0, ' ', out);
	cr_assert(eq(str, (char *)text(), ""));
}
