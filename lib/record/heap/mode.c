/* SPDX-License-Identifier: MIT */
#include "record/heap/mode.h"

static void take_counted(struct profile_heap *figures)
{
	figures->allocations = figures->counted_allocations;
	figures->reallocations = figures->counted_reallocations;
	figures->frees = figures->counted_frees;
	figures->allocated_bytes = figures->counted_bytes;
}

/* Of what no block tells. */
static void forget_the_rest(struct profile_heap *figures)
{
	figures->freed_bytes = PROFILE_UNKNOWN;
	figures->peak_bytes = figures->peak_blocks = PROFILE_UNKNOWN;
	figures->peak_time_us = PROFILE_NO_TIME;
	figures->peak_exact = false;
	figures->live_bytes = figures->live_blocks = PROFILE_UNKNOWN;
	figures->temporary = PROFILE_UNKNOWN;
	for (int i = 0; i < PROFILE_NR_LIFETIMES; i++)
		figures->churn[i].bytes = figures->churn[i].blocks = PROFILE_UNKNOWN;
}

/* A free that was not seen only makes the model's peak too large; an allocation that was late too
 * small, by what nobody added up. */
static void bound_peak(struct profile_heap *figures)
{
	uint64_t known = figures->allocated_bytes, counted = figures->counted_bytes;

	if (!figures->late_events)
		figures->peak_most_bytes =
			figures->peak_bytes + (counted > known ? counted - known : 0);
}

void mode_adjust(enum wire_mode mode, struct profile_heap *figures)
{
	figures->peak_most_bytes = PROFILE_UNKNOWN;
	if (mode == WIRE_MODE_EXACT) {
		bound_peak(figures);
		return;
	}
	take_counted(figures);
	if (mode == WIRE_MODE_COUNTS)
		forget_the_rest(figures);
	else
		figures->freed_bytes = figures->allocated_bytes > figures->live_bytes
					       ? figures->allocated_bytes - figures->live_bytes
					       : 0;
}
