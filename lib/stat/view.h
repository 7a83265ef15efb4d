/* SPDX-License-Identifier: MIT */
/*
 * view - the ways in which a result is written; stat_views lists them.
 */
#ifndef STAT_VIEW_H
#define STAT_VIEW_H

#include "stat/stat.h"

/* For people.  Where nobody has said a width the spread of several runs takes 100 columns. */
void text_print(const struct stat_result *result, size_t width, FILE *out);
void text_print_interval(const struct stat_result *result, const struct stat_interval *interval,
			 FILE *out);
/* The object documented in cprof-stat(1); stable. */
void json_print(const struct stat_result *result, size_t width, FILE *out);
/* The table documented in cprof-stat(1); stable. */
void csv_print(const struct stat_result *result, size_t width, FILE *out);
void csv_print_interval(const struct stat_result *result, const struct stat_interval *interval,
			FILE *out);

#endif
