/* SPDX-License-Identifier: MIT */
/*
 * text_comparison - what the first command differs in from the others, as a table for people.
 */
#ifndef STAT_TEXT_COMPARISON_H
#define STAT_TEXT_COMPARISON_H

#include "stat/stat.h"

/* Nothing if there is only one command.  width: in columns; 0: not limited. */
void text_print_comparison(const struct stat_result *result, size_t width, FILE *out);

/* What a command is called in it: A, B, ... */
void text_print_label(size_t command, FILE *out);

#endif
