/* SPDX-License-Identifier: MIT */
/*
 * wrap - text in lines of a width.
 *
 *	wrap_print("[1] no hardware PMU", 2, width, out);
 *
 *	column = fprintf(out, "  %-*s", 20, name);
 *	wrap_print_from(about, column, 22, width, out);
 *
 * A width is in columns; 0: nobody has said one, then it is 80.  Words that are longer stay whole.
 */
#ifndef STAT_WRAP_H
#define STAT_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* What lines have. */
size_t wrap_width(size_t width);

/* Words of text, every line indented. */
void wrap_print(const char *text, size_t indent, size_t width, FILE *out);
/* The same behind what has that many columns, which the first line goes on from. */
void wrap_print_from(const char *text, size_t column, size_t indent, size_t width, FILE *out);
/* Phrases with " · " between them: one that has no room begins the next line. */
void wrap_print_phrases(const char *text, size_t indent, size_t width, FILE *out);

#endif
