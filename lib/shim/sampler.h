/* SPDX-License-Identifier: MIT */
/*
 * sampler - which blocks are of the sample, by chance.
 *
 *	struct sampler sampler;
 *
 *	sampler_init(&sampler, mean_bytes, seed);
 *	if (sampler_hits(&sampler, size))
 *		...;			// with probability 1 - exp(-size / mean_bytes)
 *
 * Points lie on the bytes that go by, at distances drawn from the exponential distribution; a block
 * is hit if there is at least one on it.  A process without memory: so blocks are independent of
 * each other, and whoever stops and goes on, or begins anew, changes nothing.  One thread.
 */
#ifndef SHIM_SAMPLER_H
#define SHIM_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct sampler {
	uint64_t left; /* the next point is on this byte, from 1 */
	uint64_t mean;
	uint64_t random;
};

void sampler_init(struct sampler *sampler, uint64_t mean, uint64_t seed);

/* Puts the next point. */
void sampler_draw(struct sampler *sampler);

/* -ln(x), 0 < x <= 1. */
double sampler_minus_log(double x);

static inline bool sampler_hits(struct sampler *sampler, uint64_t size)
{
	uint64_t bytes = size ? size : 1;

	if (__builtin_expect(bytes < sampler->left, 1)) {
		sampler->left -= bytes;
		return false;
	}
	sampler_draw(sampler);
	return true;
}

#endif
