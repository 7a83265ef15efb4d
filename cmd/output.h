/* SPDX-License-Identifier: MIT */
/*
 * output - the file that `-o FILE` names, or standard error.
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
 * Standard error, but in one piece up to each fflush(): what others write there meanwhile does not
 * get between the lines.  One at a time.  Where there is none it is `stderr`.
 */
FILE *output_errors(void);
/*
 * Negative if not all of it could be written.  path: NULL: of output_errors(), which cannot be
 * complained about.  Standard output stays open: it is looked at when the process ends (main.c).
 */
int output_close(FILE *out, const char *path, struct error *err);

#endif
