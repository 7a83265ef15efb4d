/* SPDX-License-Identifier: MIT */
#include "store/classes.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)

const uint64_t lifetime_bounds_ns[LIFETIME_CLASSES] = {
	US, 10 * US, 100 * US, MS, 10 * MS, 100 * MS, S, 10 * S, 100 * S, LIFETIME_UNBOUNDED,
};

const uint8_t lifetime_class_of_bits[65] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4,
	4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 9, 9, 9, 9, 9, 9,
	9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
};
