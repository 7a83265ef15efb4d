/* SPDX-License-Identifier: MIT */
#include "record/width.h"

enum {
	SHALLOW_AT_START = 1000, /* stacks without a deep one until the copies are narrow */
	SHALLOW_FIRST = 10000,	 /* until they are so again */
	DOUBLINGS_MAX = 16,
	RESTS_FOR_LOST = 16, /* stacks whose rest is read for one that was lost */
	RESTS_MAX = 128,
	LOST_MAX_PERCENT = 5,
	LOST_MIN = 20, /* fewer may have been bad luck */
	RING_MS = 32,  /* that the ring has to last for: each wide copy wakes its reader */
	RING_SAMPLES_MIN = 8,
	OTHER_BYTES = 1024, /* of a sample, besides its stack */
};

static void set_wide(struct width *width, bool wide)
{
	width->is_wide = wide;
	width->nr_shallow = 0;
	width->nr_widened += wide;
}

static bool has_been_shallow(const struct width *width)
{
	uint32_t doublings = width->nr_widened < DOUBLINGS_MAX ? width->nr_widened : DOUBLINGS_MAX;

	if (!width->nr_widened)
		return width->nr_shallow >= SHALLOW_AT_START;
	return width->nr_shallow >> doublings > SHALLOW_FIRST;
}

/* What the stacks are like is not known yet. */
static void begin(struct width *width)
{
	width->has_begun = true;
	width->is_wide = width->begins_wide;
}

void width_add(struct width *width, uint64_t depth_bytes, bool cut)
{
	bool is_deep = cut || depth_bytes > width->narrow_bytes;

	if (!width->has_begun)
		begin(width);
	width->nr_wide += width->is_wide;
	width->nr_shallow = is_deep ? 0 : width->nr_shallow + 1;
	if (is_deep && !width->nr_widened)
		width->nr_widened = 1;
	if (!width->is_wide && cut && !width->is_settled)
		set_wide(width, true);
	else if (width->is_wide && has_been_shallow(width))
		set_wide(width, false);
}

void width_lost(struct width *width, uint64_t nr)
{
	if (!width->is_wide)
		return;
	if (!width->nr_widened) { /* nothing has been deep so far */
		set_wide(width, false);
		return;
	}
	width->nr_lost += nr;
	if (width->nr_lost < LOST_MIN ||
	    width->nr_lost * 100 < (width->nr_wide + width->nr_lost) * LOST_MAX_PERCENT)
		return;
	width->is_settled = true;
	set_wide(width, false);
}

void width_beyond(struct width *width, bool is_lost)
{
	if (!is_lost)
		width->nr_rests -= width->nr_rests > 0;
	else if (width->nr_rests < RESTS_MAX)
		width->nr_rests += RESTS_FOR_LOST;
}

bool width_wants_rest(const struct width *width)
{
	return width->nr_rests;
}

uint32_t width_wide_bytes(uint32_t narrow_bytes, uint32_t most_bytes, uint64_t ring_bytes,
			  uint64_t samples_per_second)
{
	uint64_t samples = samples_per_second * RING_MS / 1000;

	if (samples < RING_SAMPLES_MIN)
		samples = RING_SAMPLES_MIN;
	uint64_t bytes = ring_bytes / samples;
	bytes = bytes > OTHER_BYTES ? (bytes - OTHER_BYTES) & ~UINT64_C(7) : 0;
	if (bytes > most_bytes)
		bytes = most_bytes;
	return bytes > narrow_bytes + narrow_bytes / 4 ? (uint32_t)bytes : 0;
}
