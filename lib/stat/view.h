/* SPDX-License-Identifier: MIT */
/*
 * view - the ways in which a result is written; stat_views lists them.
 */
#ifndef STAT_VIEW_H
#define STAT_VIEW_H

#include "stat/stat.h"

/* 80 columns, for people. */
void text_print(const struct stat_result *result, FILE *out);
/* The object documented in cprof(1); stable. */
void json_print(const struct stat_result *result, FILE *out);

#endif
