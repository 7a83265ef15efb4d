/* SPDX-License-Identifier: MIT */
/*
 * peak - the maximum over time of a sum, and what each part held then, at O(1) an event.
 *
 *	peak_change(&scope, delta_bytes, delta_blocks, time_ns);	// for every change, then
 *	if (part_epoch != scope.epoch)					// its part, before it
 *		kept = part_now, part_epoch = scope.epoch;		// changes
 *
 * The maximum is noticed when the sum falls from it: only then does a new epoch begin.  A part
 * remembers what it held at the start of an epoch when it changes for the first time in it, so
 * nobody walks over all parts.  Of equal maxima the latest counts, and the state at its end.
 * While the sum stands at its maximum, the parts held then what they hold now.
 */
#ifndef RECORD_HEAP_PEAK_H
#define RECORD_HEAP_PEAK_H

#include <stdbool.h>
#include <stdint.h>

struct peak {
	uint64_t bytes, blocks; /* now */
	uint64_t changed_ns;	/* when that came about */
	uint64_t max_bytes, max_blocks;
	uint64_t max_ns;
	uint32_t epoch;
};

struct peak_part {
	uint64_t bytes, blocks, slack;
};

/* The maximum is now (or never was anything). */
static inline bool peak_is_now(const struct peak *peak)
{
	return peak->bytes >= peak->max_bytes;
}

static inline void peak_leave(struct peak *peak)
{
	peak->epoch++;
	peak->max_bytes = peak->bytes;
	peak->max_blocks = peak->blocks;
	peak->max_ns = peak->changed_ns;
}

/* Before it falls. */
static inline void peak_fall(struct peak *peak)
{
	if (peak_is_now(peak))
		peak_leave(peak);
}

static inline void peak_change(struct peak *peak, int64_t bytes, int64_t blocks, uint64_t time_ns)
{
	if (bytes < 0)
		peak_fall(peak);
	peak->bytes += (uint64_t)bytes;
	peak->blocks += (uint64_t)blocks;
	peak->changed_ns = time_ns;
}

/* What a part held at the maximum, by what was kept of it in this epoch and what it holds now. */
static inline struct peak_part peak_part_at_max(const struct peak *peak, uint32_t epoch,
						const struct peak_part *kept,
						const struct peak_part *now)
{
	return peak_is_now(peak) || epoch != peak->epoch ? *now : *kept;
}

#endif
