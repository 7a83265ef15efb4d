/* SPDX-License-Identifier: MIT */
#include "record/events/rate.h"

#include <inttypes.h>

#include "base/alloc.h"

char *rate_limit(struct sampling *sampling, uint32_t max_rate)
{
	uint32_t asked_hz = sampling->frequency_hz;
	uint32_t most_hz = max_rate ? max_rate : SAMPLING_CLOCK_HZ_MAX;

	if (sampling->period || asked_hz <= most_hz)
		return NULL;
	sampling->frequency_hz = most_hz;
	if (asked_hz == SAMPLING_HZ_MOST)
		return NULL;
	return xasprintf("%" PRIu32 " Hz lowered to %" PRIu32 ", kernel.perf_event_max_sample_rate",
			 asked_hz, most_hz);
}

char *rate_clock_detail(const struct sampling *sampling, const struct event_type *type,
			uint32_t asked_hz)
{
	static const char why[] = "would leave the program no time";
	uint64_t period = sampling_period(type, sampling);
	uint32_t rate_hz = sampling_rate_hz(type, sampling);

	if (!event_type_is_clock(type))
		return NULL;
	if (period != sampling->period)
		return xasprintf("a sample every %" PRIu64 " ns instead of every %" PRIu64
				 ": the timer of %s %s",
				 period, sampling->period, type->name, why);
	if (period || rate_hz >= asked_hz || asked_hz == SAMPLING_HZ_MOST)
		return NULL;
	return xasprintf("%" PRIu32 " Hz lowered to %" PRIu32 ": the timer of %s %s", asked_hz,
			 rate_hz, type->name, why);
}
