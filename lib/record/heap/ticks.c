/* SPDX-License-Identifier: MIT */
#include "record/heap/ticks.h"

#include "base/clock.h"

/* Long enough for the rate to be known to some parts in 10 000, and to better ones later. */
#define FIRST_NS 200000

/* The pair read fastest is the one that was not interrupted. */
static void pair(uint64_t *clock, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		uint64_t before = wire_clock(), now_ns = clock_now_ns(),
			 took = wire_clock() - before;

		if (took >= best)
			continue;
		best = took;
		*clock = before + took / 2;
		*ns = now_ns;
	}
}

void ticks_start(struct ticks *ticks)
{
	pair(&ticks->first_clock, &ticks->first_ns);
	while (clock_now_ns() - ticks->first_ns < FIRST_NS)
		;
	ticks_sync(ticks);
}

void ticks_sync(struct ticks *ticks)
{
	pair(&ticks->clock, &ticks->ns);
	ticks->ns_per_tick =
		(double)(ticks->ns - ticks->first_ns) / (double)(ticks->clock - ticks->first_clock);
}
