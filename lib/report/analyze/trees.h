/* SPDX-License-Identifier: MIT */
/*
 * trees - the call trees of a profile, weighted by one event.
 *
 *	trees_init(&trees, chains);
 *	trees_add(&trees, total->stack, total->weight);		// each total once
 *	trees_sum(&trees);
 *	trees_functions(&trees, totals);			// by function
 *	trees_release(&trees);
 */
#ifndef REPORT_ANALYZE_TREES_H
#define REPORT_ANALYZE_TREES_H

#include <stdbool.h>
#include <stdint.h>

#include "report/analyze/chains.h"

struct trees {
	const struct chains *chains;
	double *weight;	   /* by stack id; after trees_sum() with that of all its callees */
	uint32_t *child;   /* the first one of each stack, or PROFILE_NONE */
	uint32_t *sibling; /* the next one, or PROFILE_NONE */
	uint32_t root;	   /* the first one, or PROFILE_NONE */
	bool *truncated;   /* the outermost frames are missing */
};

void trees_init(struct trees *trees, const struct chains *chains);
void trees_release(struct trees *trees);

static inline void trees_add(struct trees *trees, uint32_t stack, double weight)
{
	trees->weight[stack] += weight;
}

void trees_sum(struct trees *trees);

/*
 * Adds to total[f] the weight of all stacks that function f is on, each stack once however often
 * f recurs in it.
 */
void trees_functions(const struct trees *trees, double *total);

#endif
