/* SPDX-License-Identifier: MIT */
/*
 * clock - the kernel's clocks in nanoseconds.
 *
 *	uint64_t start_ns = clock_now_ns();
 *	...
 *	took_ns = clock_now_ns() - start_ns;
 *
 * CLOCK_MONOTONIC is the one clock of a recording: perf's records, the heap's events and our own
 * threads use it.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
