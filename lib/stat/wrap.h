/* SPDX-License-Identifier: MIT */
/*
 * wrap - text in lines of 80 columns.
 */
#ifndef STAT_WRAP_H
#define STAT_WRAP_H

#include <stdio.h>

/* Words of text, every line indented. */
void wrap_print(const char *text, int indent, FILE *out);

#endif
