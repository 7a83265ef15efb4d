/* SPDX-License-Identifier: MIT */
/*
 * stop_counters - as counters.h, where threads are stopped instead: the events as rows of the profile.
 *
 *	stop_counters_put(&counters, sampled_ns);	// at the start, now and then, at the end
 *	stop_counters_put_used(&counters, used_ns);	// then, if that is known
 *
 * cpu-time leads.  Of perf's events, asked for beside it or instead of it, there is none; task-clock
 * is known without perf.
 */
#ifndef RECORD_STOP_COUNTERS_H
#define RECORD_STOP_COUNTERS_H

#include "record/aggregate/aggregate.h"
#include "record/events/event_types.h"

struct stop_counters {
	struct aggregate *aggregate;
	const struct event_types *asked;
	const char *refused; /* why perf is; NULL: cpu-time was asked for */
	const char *reason;  /* why cpu-time is sampled; likewise */
	uint32_t frequency_hz;
};

void stop_counters_put(const struct stop_counters *counters, uint64_t sampled_ns);
void stop_counters_put_used(const struct stop_counters *counters, uint64_t used_ns);

#endif
