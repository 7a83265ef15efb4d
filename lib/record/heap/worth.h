/* SPDX-License-Identifier: MIT */
/*
 * worth - what a block of a sample stands for.
 *
 *	weight = worth_weight(size, mean_bytes);	// of all blocks of this size
 *	worth = worth_of(weight, size);
 *	sum += worth.bytes;
 *	...
 *	print(worth_bytes(sum));
 *
 * A block is of the sample with the probability p = 1 - exp(-size / mean), independently of all
 * others (shim/sampler.h), and stands for 1 / p blocks of its size.  So sums over the sample have
 * the sums over all blocks as their mean, whatever the sizes are.  The variance of a sum is
 * estimated by the sum of (1 - p) (value / p)^2 over the blocks of the sample (Horvitz and
 * Thompson, for independent draws).
 *
 * 1 / p is no whole number: sums are kept in parts of a block and of a byte, as integers, so that
 * what is added and taken away again leaves nothing.
 */
#ifndef RECORD_HEAP_WORTH_H
#define RECORD_HEAP_WORTH_H

#include <stdint.h>

#define WORTH_BLOCK_BITS 20 /* parts of a block */
#define WORTH_BYTE_BITS 10  /* parts of a byte */

struct worth {
	uint64_t bytes, blocks; /* in parts */
};

/* Of blocks of at least that size the weight is that of one block. */
static inline uint64_t worth_size_limit(uint64_t mean)
{
	return 40 * mean;
}

/* In parts of a block. */
uint64_t worth_weight(uint64_t size, uint64_t mean);

static inline struct worth worth_of(uint64_t weight, uint64_t size)
{
	const unsigned int bits = WORTH_BLOCK_BITS - WORTH_BYTE_BITS;

	return (struct worth){ (uint64_t)((unsigned __int128)size * weight >> bits), weight };
}

/* Of parts, the nearest whole numbers. */
static inline uint64_t worth_blocks(uint64_t parts)
{
	return (parts + (UINT64_C(1) << (WORTH_BLOCK_BITS - 1))) >> WORTH_BLOCK_BITS;
}

static inline uint64_t worth_bytes(uint64_t parts)
{
	return (parts + (UINT64_C(1) << (WORTH_BYTE_BITS - 1))) >> WORTH_BYTE_BITS;
}

/* Of the estimates of how many blocks there are, and of their bytes, from nr blocks of the sample
 * with one weight and `bytes` in all. */
double worth_blocks_variance(uint64_t weight, uint64_t nr);
double worth_bytes_variance(uint64_t weight, uint64_t nr, uint64_t bytes);

#endif
