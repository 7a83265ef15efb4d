/* SPDX-License-Identifier: MIT */
/*
 * version - what this cprof is and what it was built with.
 */
#ifndef CMD_VERSION_H
#define CMD_VERSION_H

#include <stdio.h>

/* "cprof 0.1.0", then what may be absent in a build and whether it is in. */
void version_print(FILE *out);

#endif
