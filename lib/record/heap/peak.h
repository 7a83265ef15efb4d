/* SPDX-License-Identifier: MIT */
/*
 * peak - the maximum over time of a sum, and what each part held then, at O(1) an event.
 *
 *	peak_change(&scope, delta_bytes, delta_blocks, time_ns);	// for every change,
 *	peak_part_change(&scope, &part, delta_bytes, delta_blocks);	// then its part
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
	uint64_t bytes, blocks; /* at the maximum that began the epoch */
	uint32_t epoch;
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

static inline void peak_change(struct peak *peak, int64_t bytes, int64_t blocks, uint64_t time_ns)
{
	if (bytes < 0 && peak_is_now(peak))
		peak_leave(peak);
	peak->bytes += (uint64_t)bytes;
	peak->blocks += (uint64_t)blocks;
	peak->changed_ns = time_ns;
}

/* bytes, blocks: what the part holds, before it changes. */
static inline void peak_part_keep(const struct peak *peak, struct peak_part *part, uint64_t bytes,
				  uint64_t blocks)
{
	if (part->epoch == peak->epoch)
		return;
	part->epoch = peak->epoch;
	part->bytes = bytes;
	part->blocks = blocks;
}

/* What a part that holds bytes and blocks now held at the maximum. */
static inline struct peak_part peak_part_at_max(const struct peak *peak,
						const struct peak_part *part, uint64_t bytes,
						uint64_t blocks)
{
	if (peak_is_now(peak) || part->epoch != peak->epoch)
		return (struct peak_part){ .bytes = bytes, .blocks = blocks };
	return *part;
}

#endif
