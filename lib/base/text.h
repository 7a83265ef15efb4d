/* SPDX-License-Identifier: MIT */
/*
 * text - names as people read them.
 *
 *	char *name = text_clean(function->name);
 *	char *fitting = text_clip(name, 30);
 *
 * Names come from the program that was measured and are not trusted: text_utf8() makes them valid
 * UTF-8 (for JSON), text_clean() makes them also safe to show on a terminal.  Width is in
 * terminal columns.  Free what is returned.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* U+2026: something is left out. */
#define ELLIPSIS "\xe2\x80\xa6"

/* Text as UTF-8, each byte sequence that is none replaced by U+FFFD. */
char *text_utf8(const char *text);

/*
 * As text_utf8(), and control characters are spelled out ("\n", "\x1b"), so that they cannot do
 * anything; those that reorder or hide other text become U+FFFD.
 */
char *text_clean(const char *text);

/* The following take UTF-8 without control characters. */

size_t text_width(const char *text);

/* Text in at most width columns: what does not fit is left out in the middle ("std::ve…::insert"),
 * where names of templates are dullest. */
char *text_clip(const char *text, size_t width);

/*
 * How many bytes of text, from its start up to the end of a word, fit into width columns; at least
 * the first word.  For text of several lines: the spaces that follow are no part of the next line.
 */
size_t text_line(const char *text, size_t width);

/*
 * Text in ASCII, and as wide: the signs that we write (the dot between phrases, bars, "…") become
 * others like them, any other character '?'.
 */
char *text_ascii(const char *text);

#endif
