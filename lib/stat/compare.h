/* SPDX-License-Identifier: MIT */
/*
 * compare - the first command of a result against each other one, event by event.
 */
#ifndef STAT_COMPARE_H
#define STAT_COMPARE_H

#include "stat/stat.h"

/* Fills in the result's differences: of wall-time and of every event that counted for both. */
void compare_commands(struct stat_result *result);

#endif
