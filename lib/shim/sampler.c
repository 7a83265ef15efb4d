/* SPDX-License-Identifier: MIT */
#include "shim/sampler.h"

#include <string.h>

#define LN_2 0.69314718055994530942
#define SQRT_HALF 0.70710678118654752440
#define TERMS 10 /* of the series: what is left out is below 1e-17 */

/* x = m * 2^exponent, sqrt(1/2) <= m < sqrt(2), and ln(m) = 2 artanh((m - 1) / (m + 1)). */
double sampler_minus_log(double x)
{
	const uint64_t mantissa = (UINT64_C(1) << 52) - 1, half = UINT64_C(1022) << 52;
	uint64_t bits;
	double m, s, sum = 0;

	memcpy(&bits, &x, sizeof(bits));
	int exponent = (int)(bits >> 52) - 1022;
	bits = (bits & mantissa) | half;
	memcpy(&m, &bits, sizeof(m));
	if (m < SQRT_HALF) {
		m *= 2;
		exponent--;
	}
	s = (m - 1) / (m + 1);
	for (int i = TERMS; i--;)
		sum = sum * s * s + 1.0 / (2 * i + 1);
	return -(exponent * LN_2 + 2 * s * sum);
}

/* splitmix64: good from the first number on, whatever the seed. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

void sampler_draw(struct sampler *sampler)
{
	/* 0 < uniform <= 1; no distance is above 37 means. */
	double uniform = (double)((next(&sampler->random) >> 11) + 1) / (double)(UINT64_C(1) << 53);
	double distance = sampler_minus_log(uniform) * (double)sampler->mean;
	uint64_t whole = (uint64_t)distance;

	/* The byte on which the point is: rounded up. */
	sampler->left = whole + ((double)whole < distance || !whole);
}

void sampler_init(struct sampler *sampler, uint64_t mean, uint64_t seed)
{
	sampler->mean = mean;
	sampler->random = seed;
	sampler_draw(sampler);
}
