/* SPDX-License-Identifier: MIT */
/*
 * tally - what the runs say about one event, added up.
 *
 *	tally_add(&tally, &reading);	// once a run
 *	...
 *	tally_result(&tally, &event);
 */
#ifndef STAT_TALLY_H
#define STAT_TALLY_H

#include "stat/stat.h"

/* One run's count of an event, and what was counted in the same windows. */
struct reading {
	double count;
	double enabled_ns, running_ns; /* both 0: counted throughout */
	double instructions, partner;  /* NaN: not in these windows */
};

/* Share of the time in which it counted, 0..1. */
double reading_coverage(const struct reading *reading);

struct tally {
	struct stats value, coverage;
	enum profile_status status;
	struct {
		double part, whole;
	} per_instruction, to_partner;
};

void tally_add(struct tally *tally, const struct reading *reading);

/* Fills value, status, coverage and the ratios; name, unit, reason, ratio_of stay. */
void tally_result(const struct tally *tally, struct stat_event *event);

#endif
