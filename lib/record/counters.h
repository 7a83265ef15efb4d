/* SPDX-License-Identifier: MIT */
/*
 * counters - the events of a recording as rows of the profile: what each has counted by now.
 *
 *	counters_put(&counters);	// at the start, now and then, at the end
 *
 * What was asked for and cannot be had is a row too, with the reason.
 */
#ifndef RECORD_COUNTERS_H
#define RECORD_COUNTERS_H

#include "record/aggregate/aggregate.h"
#include "record/events/events.h"
#include "record/events/ladder.h"
#include "record/events/sampling.h"

struct counters {
	struct aggregate *aggregate;
	const struct ladder *ladder;
	const struct events *events;
	const struct sampling *sampling;
};

void counters_put(const struct counters *counters);

#endif
