/* SPDX-License-Identifier: MIT */
/*
 * filter - a stream that changes each line on its way to another stream.
 *
 *	FILE *clean = filter_open(stderr, text_clean);
 *
 *	fprintf(clean, "no such file: %s\n", name);
 *	filter_close(clean, stderr);
 *
 * A line that has not ended yet waits for its end, or for filter_close().  Errors are those of the
 * other stream.
 */
#ifndef CMD_FILTER_H
#define CMD_FILTER_H

#include <stdio.h>

/* change: of a line without its end, made with malloc().  Never fails: at worst it is `to`. */
FILE *filter_open(FILE *to, char *(*change)(const char *line));
/* The other stream stays open. */
void filter_close(FILE *filter, FILE *to);

#endif
