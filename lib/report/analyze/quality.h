/* SPDX-License-Identifier: MIT */
/*
 * quality - the ledger: everything that was not measured as it should be.
 *
 * What the recorder and the symbolization wrote, then what only the analysis can tell: samples
 * without a name, what cprof cost, an unfinished file.
 */
#ifndef REPORT_ANALYZE_QUALITY_H
#define REPORT_ANALYZE_QUALITY_H

#include "report/analyze/analysis.h"

/* Fills analysis->quality; the rest is there. */
void quality_list(struct analysis *analysis, const struct profile *profile);

#endif
