/* SPDX-License-Identifier: MIT */
/*
 * ticks - the clock of events as CLOCK_MONOTONIC.
 *
 *	struct ticks ticks;
 *
 *	ticks_start(&ticks);
 *	ticks_sync(&ticks);				// now and then
 *	time_ns = ticks_ns(&ticks, event.clock);	// an event of about now
 */
#ifndef RECORD_HEAP_TICKS_H
#define RECORD_HEAP_TICKS_H

#include <stdint.h>

#include "shim/wire.h"

struct ticks {
	uint64_t first_clock, first_ns;
	uint64_t clock, ns; /* the last pair */
	double ns_per_tick; /* between the two */
};

void ticks_start(struct ticks *ticks);
void ticks_sync(struct ticks *ticks);

static inline uint64_t ticks_ns(const struct ticks *ticks, uint64_t clock)
{
	int64_t since = (int64_t)(wire_clock_expand(clock, ticks->clock) - ticks->clock);

	return ticks->ns + (uint64_t)(int64_t)((double)since * ticks->ns_per_tick);
}

#endif
