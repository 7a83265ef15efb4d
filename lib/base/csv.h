/* SPDX-License-Identifier: MIT */
/*
 * csv - text as a field of comma-separated values, by RFC 4180.
 *
 *	csv_put_text(name, out);
 *	csv_put_words(arguments, nr, ' ', out);
 *
 * The separators between fields and the ends of lines are the caller's.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stddef.h>
#include <stdio.h>

/* As valid UTF-8 (see text_utf8()), in quotes if it has a comma, a quote or the end of a line. */
void csv_put_text(const char *text, FILE *out);
/* As one field. */
void csv_put_words(const char *const *words, size_t nr, char separator, FILE *out);

#endif
