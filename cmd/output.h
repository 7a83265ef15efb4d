/* SPDX-License-Identifier: MIT */
/*
 * output - the file that `-o FILE` names, or standard error.
 *
 *	struct output output;
 *
 *	ret = output_open(&output, "a.json", &err);	// "-": standard output
 *	... what may fail ...
 *	output_begin(&output);
 *	print(output.file);
 *	ret = output_close(&output, &err);
 *
 * That it can be written is known before there is anything to write, so a file that is there keeps
 * what it has until output_begin(), and one that is not is gone again without.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

struct output {
	FILE *file;
	const char *path; /* NULL: standard error, which cannot be complained about */
	bool is_new, has_begun;
	int failed_errno; /* what was in it could not go; 0: it could */
};

/* Negative if it cannot be written, or is a profile: nobody wants one to be replaced by text. */
int output_open(struct output *output, const char *path, struct error *err);
/*
 * Standard error, but in one piece up to each fflush(): what others write there meanwhile does not
 * get between the lines.  One at a time.  Where there is none it is `stderr`.
 */
void output_errors(struct output *output);
/* What is in the file goes.  Once is enough. */
void output_begin(struct output *output);
/*
 * Negative if not all of it could be written.  Standard output stays open: it is looked at when the
 * process ends (main.c).
 */
int output_close(struct output *output, struct error *err);

#endif
