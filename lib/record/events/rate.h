/* SPDX-License-Identifier: MIT */
/*
 * rate - how often can be sampled at most, and words for whoever asked for more.
 *
 *	uint32_t asked_hz = sampling.frequency_hz;
 *	char *detail = rate_limit(&sampling, access.max_rate);	// before events are opened
 *
 *	...
 *	detail = rate_clock_detail(&sampling, leader, asked_hz);	// of the event there is
 *
 * The kernel has a limit for all events.  That of clocks is sampling.h's, and in the attributes
 * already.  Details are for free(); NULL: all is as asked for.  For SAMPLING_HZ_MOST it always is.
 */
#ifndef RECORD_EVENTS_RATE_H
#define RECORD_EVENTS_RATE_H

#include "record/events/event_type.h"
#include "record/events/sampling.h"

/* Lowers the frequency to max_rate; 0: that is not known. */
char *rate_limit(struct sampling *sampling, uint32_t max_rate);

char *rate_clock_detail(const struct sampling *sampling, const struct event_type *type,
			uint32_t asked_hz);

#endif
