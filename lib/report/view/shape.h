/* SPDX-License-Identifier: MIT */
/*
 * shape - which rows of a view are shown, and in which order.
 *
 * Shares and totals were computed before and stay what they are.
 */
#ifndef REPORT_VIEW_SHAPE_H
#define REPORT_VIEW_SHAPE_H

#include <regex.h>
#include <stddef.h>

#include "base/error.h"
#include "report/view/view.h"

struct shape {
	const char *sort;		  /* key of a field; NULL: as it is */
	double min_share;		  /* 0..1 of what the rows are sorted by */
	size_t limit;			  /* 0: all */
	const regex_t *function, *module; /* NULL: any */
};

/*
 * Applies to every table of the view.  A row of functions matches by its own name and module, a
 * site if one of its frames does.  ERR_USAGE if no table has the key to sort by.
 */
int shape_apply(const struct shape *shape, const struct view *view, struct analysis *analysis,
		struct error *err);

#endif
