/* SPDX-License-Identifier: MIT */
/*
 * classes - in which class of a histogram a size or a lifetime is.
 *
 *	class = size_class(100);		// 3
 *	size_class_most(class);			// 128: from 65 to 128 bytes
 *	class = lifetime_class(3000);		// 1
 *	lifetime_class_below_us(class);		// 10: from 1 us to less than 10 us
 *
 * Sizes are in classes of at most 16, 32, 64 ... bytes, lifetimes in classes of less than 1, 10,
 * 100 us, 1, 10, 100 ms, 1, 10, 100 s, and longer ones.
 */
#ifndef STORE_CLASSES_H
#define STORE_CLASSES_H

#include <stdint.h>

/* Sizes in events are below 2^48. */
#define SIZE_CLASSES 45
#define LIFETIME_CLASSES 10

/* The bound of the last one. */
#define LIFETIME_UNBOUNDED UINT64_MAX

static inline unsigned int size_class(uint64_t bytes)
{
	return bytes <= 16 ? 0 : 60 - (unsigned int)__builtin_clzll(bytes - 1);
}

static inline uint64_t size_class_most(unsigned int class)
{
	return UINT64_C(16) << class;
}

/* By class, in nanoseconds. */
extern const uint64_t lifetime_bounds_ns[LIFETIME_CLASSES];
/* The class of numbers of n bits, if they are below the one bound that is among them. */
extern const uint8_t lifetime_class_of_bits[65];

static inline unsigned int lifetime_class(uint64_t ns)
{
	unsigned int class = lifetime_class_of_bits[64 - __builtin_clzll(ns | 1)];

	return class + (class < LIFETIME_CLASSES - 1 && ns >= lifetime_bounds_ns[class]);
}

static inline uint64_t lifetime_class_below_us(unsigned int class)
{
	uint64_t ns = lifetime_bounds_ns[class];

	return ns == LIFETIME_UNBOUNDED ? ns : ns / 1000;
}

#endif
