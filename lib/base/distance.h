/* SPDX-License-Identifier: MIT */
/* distance - how far two numbers are apart, whichever is larger. */
#ifndef BASE_DISTANCE_H
#define BASE_DISTANCE_H

#include <stdint.h>

static inline uint64_t distance_u64(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static inline uint64_t distance_s64(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

#endif
