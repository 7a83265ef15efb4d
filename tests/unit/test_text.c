/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdlib.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/command.h"
#include "base/strbuf.h"
#include "same_text.h"

Test(text, what_is_not_utf8_becomes_the_replacement_character)
{
	same(text_utf8("Gr\xc3\xbc\xc3\x9f"), "Gr\xc3\xbc\xc3\x9f");
	same(text_utf8("a\xff"
		       "b"),
	     "a\xef\xbf\xbd"
	     "b");
	same(text_utf8("\xc0\x80"), "\xef\xbf\xbd\xef\xbf\xbd"); /* overlong 0 */
	same(text_utf8("\xed\xa0\x80"
		       "x"),
	     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
	     "x");
	same(text_utf8("cut \xe2\x80"), "cut \xef\xbf\xbd\xef\xbf\xbd");
	same(text_utf8("\x1b[31m"), "\x1b[31m"); /* JSON escapes it */
}

Test(text, nothing_in_a_cleaned_name_can_act_on_a_terminal)
{
	same(text_clean("\x1b[31mred"), "\\x1b[31mred");
	same(text_clean("a\nb\tc\x7f"), "a\\nb\\tc\\x7f");
	same(text_clean("\xc2\x9b"
			"31m"),
	     "\xef\xbf\xbd"
	     "31m"); /* C1 CSI */
	same(text_clean("a\xe2\x80\xae"
			"b"),
	     "a\xef\xbf\xbd"
	     "b"); /* right-to-left override */
	same(text_clean("plain \xe2\x82\xac"), "plain \xe2\x82\xac");
}

Test(text, width_counts_columns_not_bytes)
{
	cr_expect(eq(sz, text_width("abc"), 3));
	cr_expect(eq(sz, text_width("\xc3\xbc"), 1));
	cr_expect(eq(sz, text_width("u\xcc\x88"), 1));
	cr_expect(eq(sz, text_width("\xe6\xbc\xa2\xe5\xad\x97"), 4));
}

Test(text, clipping_leaves_out_the_middle_and_keeps_to_the_width)
{
	same(text_clip("short", 5), "short");
	same(text_clip("abcdefghij", 7), "abc\xe2\x80\xa6hij");
	same(text_clip("abcdefghij", 6), "abc\xe2\x80\xa6ij");
	same(text_clip("abcdefghij", 1), "\xe2\x80\xa6");
	same(text_clip("abcdefghij", 0), "");

	for (size_t width = 0; width < 12; width++) {
		char *clipped = text_clip("\xe6\xbc\xa2\xe5\xad\x97"
					  "ab\xe6\xbc\xa2\xe5\xad\x97",
					  width);

		cr_expect(le(sz, text_width(clipped), width));
		free(clipped);
	}
}

Test(text, a_line_ends_with_a_word)
{
	cr_expect(eq(sz, text_line("one two three", 80), 13));
	cr_expect(eq(sz, text_line("one two three", 12), 7));
	cr_expect(eq(sz, text_line("one  two", 8), 8));
	cr_expect(eq(sz, text_line("one two", 3), 3));
	cr_expect(eq(sz, text_line("one two", 1), 3)); /* longer than a line */
	cr_expect(eq(sz, text_line("Gr\xc3\xbc\xc3\x9f e", 6), 8));
	cr_expect(eq(sz, text_line("end  ", 80), 3));
	cr_expect(eq(sz, text_line("", 80), 0));
}

Test(text, in_ascii_is_as_wide_and_shows_our_signs_by_others)
{
	same(text_ascii("std::map<\xe2\x80\xa6>::insert \xc2\xb7 1.2 \xc2\xb1 0.3"),
	     "std::map<*>::insert | 1.2 +-0.3");
	same(text_ascii("\xe2\x96\x81\xe2\x96\x82\xe2\x96\x83\xe2\x96\x84\xe2\x96\x85\xe2\x96\x86"
			"\xe2\x96\x87\xe2\x96\x88"),
	     ".:-=+*#@");
	same(text_ascii("Gr\xc3\xbc\xc3\x9f \xe6\xbc\xa2"), "Gr?? ??");
	same(text_ascii("u\xcc\x88"), "u");
	same(text_ascii("cut \xe2\x80"), "cut ??");
}

Test(strbuf, grows_and_is_given_away)
{
	struct strbuf buf = { 0 };

	same(strbuf_take(&buf), "");
	strbuf_add_item(&buf, ", ", "a");
	strbuf_add_item(&buf, ", ", "b");
	strbuf_add(&buf, ": ");
	strbuf_add_bytes(&buf, "clear", 1);
	cr_expect(eq(str, buf.at, "a, b: c"));
	cr_expect(eq(sz, buf.nr, 7));
	same(strbuf_take(&buf), "a, b: c");
	same(strbuf_take(&buf), "");
}

Test(command, is_quoted_where_it_must_be)
{
	static const char *const words[] = { "./app", "--name=x y", "it's", "", "a\nb" };

	same(command_fit(words, 5, 80), "./app '--name=x y' 'it'\\''s' '' 'a\\nb'");
	same(command_fit(words, 5, 12), "./app \xe2\x80\xa6"
					"a\\nb'");
	same(command_fit(words, 0, 80), "");
}
