/* SPDX-License-Identifier: MIT */
/*
 * view - what a report shows, and in which format.
 *
 *	const struct view *view = view_find("heap");
 *
 *	renderers[REPORT_JSON]->render(view, &analysis, &style, stdout, &err);
 *
 * A new view is a row in view.c, with a page for people and the fields of its object; a new
 * format is a renderer.
 */
#ifndef REPORT_VIEW_VIEW_H
#define REPORT_VIEW_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "report/view/field.h"

struct page;

/* How text looks. */
struct style {
	size_t width; /* in columns */
	bool color;
	size_t limit;	  /* rows of the longest table; 0: what the view finds right */
	const char *file; /* named in hints; NULL: the default one */
	const char *sort; /* key the rows were sorted by; NULL: the view's own order */
};

/* A table of a view: rows of struct analysis, at this offset. */
struct view_table {
	size_t rows;
	const struct fields *fields;
	const char *measure; /* key of what rows are small in; NULL: they are all the same */
};

struct view {
	const char *name;
	const struct fields *json; /* of struct analysis */
	void (*print)(struct page *page, const struct analysis *analysis);
	struct view_table tables[2]; /* those that are filtered, sorted and shortened */
};

/* Views that users can name, NULL-named at the end. */
extern const struct view views[];
/* What `cprof record` prints. */
extern const struct view brief_view;

/* NULL if there is none. */
const struct view *view_find(const char *name);

/* Errors of the stream are its owner's to check. */
struct renderer {
	void (*render)(const struct view *view, const struct analysis *analysis,
		       const struct style *style, FILE *out);
	bool one_table; /* only views that are one */
};

extern const struct renderer text_renderer, json_renderer, csv_renderer;

#endif
