/* SPDX-License-Identifier: MIT */
/*
 * segments - which of many nested ranges is the innermost around an address.
 *
 *	struct segments s = { 0 };
 *
 *	segments_add(&s, 0x1000, 0x1400, outer);
 *	segments_add(&s, 0x1100, 0x1200, inner);
 *	segments_build(&s);
 *	segments_find(&s, 0x1180);	// inner
 *	segments_release(&s);
 *
 * The ranges are cut into pieces that do not overlap, so a look-up is one binary search.  Of
 * ranges that overlap without one holding the other, the one that starts later wins; of equal
 * ones, the one that was added later.  Empty ranges are ignored.
 */
#ifndef SYMBOLIZE_SEGMENTS_H
#define SYMBOLIZE_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define SEGMENT_NONE UINT32_MAX

struct segment_range {
	uint64_t start, end;
	uint32_t value;
	uint32_t order;
};

struct segment {
	uint64_t start; /* ends where the next one starts */
	uint32_t value;
};

struct segments {
	VEC(struct segment_range) ranges; /* until built */
	VEC(struct segment) at;
};

void segments_add(struct segments *segments, uint64_t start, uint64_t end, uint32_t value);
void segments_build(struct segments *segments);
uint32_t segments_find(const struct segments *segments, uint64_t address);
/* Where the piece around the address starts, be it in a range or between two; 0 below all. */
uint64_t segments_start(const struct segments *segments, uint64_t address);
void segments_release(struct segments *segments);

#endif
