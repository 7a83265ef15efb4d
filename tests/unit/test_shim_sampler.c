/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

#include "shim/sampler.h"

#define MEAN 4096

Test(shim_sampler, takes_logarithms_as_libm_does)
{
	for (double x = 1; x > 1e-16; x *= 0.937)
		cr_assert(epsilon_eq(dbl, sampler_minus_log(x), -log(x), 1e-15 - 4e-16 * log(x)),
			  "x = %g", x);
	cr_expect(eq(dbl, sampler_minus_log(1), 0));
}

/* Standard errors between how many of the blocks were hit and how many should be. */
static double deviation(uint64_t size, unsigned int nr)
{
	double p = -expm1(-(double)size / MEAN);
	struct sampler sampler;
	unsigned int hits = 0;

	sampler_init(&sampler, MEAN, size);
	for (unsigned int i = 0; i < nr; i++)
		hits += sampler_hits(&sampler, size);
	return (hits - nr * p) / sqrt(nr * p * (1 - p));
}

/* Seeds are fixed, so that this is no matter of luck. */
Test(shim_sampler, hits_blocks_of_every_size_with_their_probability)
{
	static const uint64_t sizes[] = { 1, 16, 100, MEAN / 2, MEAN, 3 * MEAN, 8 * MEAN };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		cr_expect(lt(dbl, fabs(deviation(sizes[i], 1000000)), 4), "size %llu",
			  (unsigned long long)sizes[i]);
}

Test(shim_sampler, hits_small_blocks_between_large_ones_no_more_and_no_less)
{
	double p = -expm1(-16.0 / MEAN);
	struct sampler sampler;
	unsigned int hits = 0, nr = 1000000;

	sampler_init(&sampler, MEAN, 1);
	for (unsigned int i = 0; i < nr; i++) {
		sampler_hits(&sampler, 10000);
		hits += sampler_hits(&sampler, 16);
	}
	cr_expect(lt(dbl, fabs(hits - nr * p) / sqrt(nr * p), 4));
}

Test(shim_sampler, a_block_of_no_bytes_is_hit_as_one_of_a_byte)
{
	struct sampler a, b;

	sampler_init(&a, 8, 1);
	sampler_init(&b, 8, 1);
	for (int i = 0; i < 1000; i++)
		cr_assert(eq(int, sampler_hits(&a, 0), sampler_hits(&b, 1)));
}

Test(shim_sampler, a_huge_block_is_always_hit)
{
	struct sampler sampler;

	sampler_init(&sampler, UINT64_C(1) << 30, 1);
	for (int i = 0; i < 1000; i++)
		cr_assert(sampler_hits(&sampler, UINT64_MAX));
}
