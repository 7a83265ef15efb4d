/* SPDX-License-Identifier: MIT */
/*
 * output - the file that `-o FILE` names.
 *
 *	FILE *out = output_open("a.json", &err);	// "-": standard output
 *
 *	print(out);
 *	ret = output_close(out, "a.json", &err);
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include <stdio.h>

#include "base/error.h"

/* NULL if it cannot be written. */
FILE *output_open(const char *path, struct error *err);
/*
 * Negative if not all of it could be written.  Standard output and error stay open: the one is
 * looked at when the process ends (main.c), the other cannot be complained about.
 */
int output_close(FILE *out, const char *path, struct error *err);

#endif
