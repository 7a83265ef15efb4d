/* SPDX-License-Identifier: MIT */
#include "record/heap/worth.h"

#include <math.h>

#define BLOCK ((double)(UINT64_C(1) << WORTH_BLOCK_BITS))

uint64_t worth_weight(uint64_t size, uint64_t mean)
{
	double bytes = size ? (double)size : 1;

	return (uint64_t)llround(BLOCK / -expm1(-bytes / (double)mean));
}

/* (1 - p) / p^2, of one block. */
static double spread(uint64_t weight)
{
	double stands_for = (double)weight / BLOCK;

	return stands_for * (stands_for - 1);
}

double worth_blocks_variance(uint64_t weight, uint64_t nr)
{
	return spread(weight) * (double)nr;
}

double worth_bytes_variance(uint64_t weight, uint64_t nr, uint64_t bytes)
{
	return nr ? spread(weight) * (double)bytes * (double)bytes / (double)nr : 0;
}
