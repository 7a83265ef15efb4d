/* SPDX-License-Identifier: MIT */
/*
 * names - names of functions and stacks of them, made to fit a line.
 *
 * What is returned is safe to print and to be freed.
 */
#ifndef REPORT_VIEW_NAMES_H
#define REPORT_VIEW_NAMES_H

#include <stddef.h>

#include "report/analyze/rows.h"

/*
 * A function's name in at most width columns.  Arguments of templates go first, then the type and
 * the arguments of the function, then the middle: "std::map<…>::insert(…)".
 */
char *name_fit(const char *name, size_t width);

/* The name alone: "std::map<…>::insert". */
char *name_brief(const char *name);

/*
 * A stack (root first) without its last frame, the allocation function: "insert < load < main",
 * innermost first.  It begins at the function that wanted the memory, not at xmalloc, operator
 * new or the inside of the standard library, and ends likewise.  If it is too long, names get
 * shorter and frames in the middle are left out; the innermost and the outermost ones say most.
 */
char *stack_fit(const struct texts *stack, size_t width);

#endif
