/* SPDX-License-Identifier: MIT */
/*
 * pace - when to look at threads again.
 *
 *	struct pace pace = { .period_ns = 10000000 };
 *
 *	pace_begin(&pace, now_ns);
 *	sleep_for(pace_pause_ns(&pace));
 *	pace_limit(&pace, now_ns, used_ns);	// CPU time of this thread
 *
 * At moments that no program can be in step with, and more seldom while looking takes us a larger
 * part of a CPU.
 */
#ifndef RECORD_STOPS_PACE_H
#define RECORD_STOPS_PACE_H

#include <stdint.h>

struct pace {
	uint64_t period_ns; /* on average, unless it is stretched */
	uint64_t stretch;
	uint64_t random;
	uint64_t limited_ns, used_ns;
};

void pace_begin(struct pace *pace, uint64_t now_ns);
/* Half the period to one and a half. */
uint64_t pace_pause_ns(struct pace *pace);
void pace_limit(struct pace *pace, uint64_t now_ns, uint64_t used_ns);
uint64_t pace_random(struct pace *pace);

#endif
