/* SPDX-License-Identifier: MIT */
/*
 * span - a part of the time of a recording, and the samples that were taken within it.
 *
 *	struct span span = { .from_us = 500000, .to_us = SPAN_END };
 *
 *	span_totals(&totals, profile, &span, &err);	// instead of profile->totals
 *	free(totals.at);
 */
#ifndef REPORT_LOAD_SPAN_H
#define REPORT_LOAD_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/reader.h"

#define SPAN_END INT64_MAX

struct span {
	int64_t from_us, to_us; /* not within; both 0: all there is */
};

struct totals {
	struct profile_total *at;
	size_t nr, room;
};

static inline bool span_is_all(const struct span *span)
{
	return !span->from_us && !span->to_us;
}

/* What profile->totals would be had nothing else been sampled. */
int span_totals(struct totals *totals, const struct profile *profile, const struct span *span,
		struct error *err);

#endif
