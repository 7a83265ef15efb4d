/* SPDX-License-Identifier: MIT */
/*
 * width - how much of the stack to copy with each sample: a little, or more; and whether to read on
 * behind the copies at once.
 *
 *	struct width width = { .narrow_bytes = 16 * 1024 };
 *
 *	width_add(&width, depth_bytes, is_cut);		// of each stack
 *	width_lost(&width, nr);				// samples that found no room in the ring
 *	width_beyond(&width, is_lost);			// of each that went on beyond its copy
 *	events_widen(events, width.is_wide);		// now and then
 *	feed.reads_rest = width_wants_rest(&width);
 *
 * A wide copy takes up more of the ring, so it is for programs whose stacks are deep: at first,
 * until that is known (begins_wide), and from each one that was cut off until none has been deep
 * for a while, which gets longer each time.  Where samples get lost over it, it is not done again.
 * To read behind the copies (rest.h) is for programs that leave their deep frames soon; in a deep
 * recursion these are still there later.  So it is done for a while from each stack on that could
 * not be followed, and for long where such come often.
 */
#ifndef RECORD_WIDTH_H
#define RECORD_WIDTH_H

#include <stdbool.h>
#include <stdint.h>

struct width {
	uint32_t narrow_bytes;
	bool begins_wide; /* the ring has room enough for that */
	bool has_begun;
	bool is_wide;
	bool is_settled; /* narrow for good */
	uint32_t nr_widened;
	uint64_t nr_shallow;	   /* stacks since the last one that needed more */
	uint64_t nr_wide, nr_lost; /* samples while it was wide */
	uint32_t nr_rests;	   /* stacks beyond their copies whose rest is wanted */
};

/* The stack was depth_bytes deep as far as it was walked; cut: the copy was not enough. */
void width_add(struct width *width, uint64_t depth_bytes, bool cut);
void width_lost(struct width *width, uint64_t nr);

void width_beyond(struct width *width, bool is_lost);
bool width_wants_rest(const struct width *width);

/* How much a wide copy may be where the ring of a CPU has ring_bytes and samples_per_second come;
 * 0: no more than a narrow one. */
uint32_t width_wide_bytes(uint32_t narrow_bytes, uint32_t most_bytes, uint64_t ring_bytes,
			  uint64_t samples_per_second);

#endif
