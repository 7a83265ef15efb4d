/* SPDX-License-Identifier: MIT */
/*
 * reasons - why figures of the CPU side, of the heap side, or of both are absent, as one text.
 */
#ifndef REPORT_ANALYZE_REASONS_H
#define REPORT_ANALYZE_REASONS_H

#include "base/intern.h"

/* Each NULL: that side is known; the result: both are.  Texts made here are kept in texts. */
const char *reasons_of_sides(struct intern *texts, const char *no_cpu, const char *no_heap);

#endif
