/* SPDX-License-Identifier: MIT */
#include "record/stops/pace.h"

enum {
	STRETCH_MAX = 64,
	OWN_SHARE = 20, /* of our own CPU time at most one in so many parts */
};

static const uint64_t limit_every_ns = 200000000;

void pace_begin(struct pace *pace, uint64_t now_ns)
{
	pace->random = now_ns | 1;
	pace->stretch = 1;
	pace->limited_ns = now_ns;
}

/* xorshift */
uint64_t pace_random(struct pace *pace)
{
	pace->random ^= pace->random << 13;
	pace->random ^= pace->random >> 7;
	pace->random ^= pace->random << 17;
	return pace->random;
}

uint64_t pace_pause_ns(struct pace *pace)
{
	uint64_t period = pace->period_ns * pace->stretch;

	return period / 2 + pace_random(pace) % period;
}

void pace_limit(struct pace *pace, uint64_t now_ns, uint64_t used_ns)
{
	if (now_ns - pace->limited_ns < limit_every_ns)
		return;
	if ((used_ns - pace->used_ns) * OWN_SHARE > now_ns - pace->limited_ns)
		pace->stretch *= pace->stretch < STRETCH_MAX ? 2 : 1;
	else if (pace->stretch > 1)
		pace->stretch /= 2;
	pace->limited_ns = now_ns;
	pace->used_ns = used_ns;
}
