/* SPDX-License-Identifier: MIT */
/*
 * utf8 - whether bytes are UTF-8 text.
 *
 * File names, arguments and symbols are any bytes; who writes JSON or SQL has to know.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The number of bytes, 1 to 4, of the character that text begins with; 0 if it does not begin with
 * one (overlong forms, surrogates and values above U+10FFFF are none) or is at its end.
 */
size_t utf8_length(const char *text);
bool utf8_is_valid(const char *text);

#endif
