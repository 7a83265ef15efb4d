/* SPDX-License-Identifier: MIT */
/*
 * report - shows a profile: load -> analyze -> view.
 *
 *	struct report *report;
 *	struct report_options options = { .view = "heap", .columns = 80 };
 *
 *	if (report_open(&report, "cprof.data", &err) < 0)
 *		return err.code;
 *	ret = report_print(report, &options, stdout, &err);
 *	report_close(report);
 *
 * An opened report can be printed any number of times.  Nothing is read but the profile, and
 * nothing is written but to the given stream, whose errors are its owner's to check.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

struct profile;
struct report;

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_NR_FORMATS };

#define REPORT_ALL ((size_t)-1)

/* A zeroed struct is the whole summary, in text of 80 columns without colour. */
struct report_options {
	const char *view; /* one of report_view_names(); NULL: "summary" */
	enum report_format format;

	/* What is looked at: shares are of this. */
	const char *comm; /* threads of this name; NULL: any */
	int pid, tid;	  /* 0: any */
	/* Samples of this part of the time, in seconds; both 0: all. */
	double from_s, to_s;
	bool no_inline; /* inlined code belongs to the function it is in */

	/* Which rows are shown, and in which order; shares stay what they are. */
	const char *function, *module; /* extended regular expressions that a row must match */
	const char *sort;	       /* key of a column; NULL: the view's own order */
	double min_share;	       /* rows below this share (0..1) are left out */
	size_t limit; /* REPORT_ALL: every row; 0: text a screenful, JSON every row */

	/* Called before the first byte is printed: nothing fails from here on.  NULL: nobody is. */
	void (*on_begin)(void *context);
	void *context;
	/* CSV only: of a table that is not known.  NULL: nobody is told. */
	void (*on_absent)(const char *view, const char *reason);

	/* Text only. */
	const char *file; /* to be named in hints at other reports; NULL: the default one */
	size_t columns;	  /* 0: 80 */
	bool color;
};

/* The names of all views, NULL at the end. */
const char *const *report_view_names(void);

/* Whether a profile is there, of whatever version, finished or not. */
bool report_is_profile(const char *path);

int report_open(struct report **report, const char *path, struct error *err);
/* Of a profile that is in memory, and stays the caller's. */
struct report *report_new(const struct profile *profile);
void report_close(struct report *report);

/* No names have been resolved yet: cprof was interrupted, or told not to. */
bool report_lacks_symbols(const struct report *report);

/*
 * For names when the profile itself cannot be written: a copy below $TMPDIR.  It may be removed
 * once it is open; that frees the path, too.
 */
int report_copy(char **copy, const char *path, struct error *err);
void report_remove_copy(char *copy);

/* ERR_USAGE for a view (in CSV, one that is not a single table), a sort key or a regular expression
 * that is none. */
int report_print(const struct report *report, const struct report_options *options, FILE *out,
		 struct error *err);

/* What `cprof record` says at its end, in about ten lines.  Only the text options matter. */
int report_print_brief(const struct report *report, const struct report_options *options, FILE *out,
		       struct error *err);

#endif
