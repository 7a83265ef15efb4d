/* SPDX-License-Identifier: MIT */
/*
 * estimate - how a size is written that may be an estimate.
 *
 *	printf("%s%s", units_size(bytes).text, estimate_error(&error).text);	// "3.2 MiB ± 90 KiB"
 *
 * The error is the standard error; what is counted has none.
 */
#ifndef REPORT_VIEW_ESTIMATE_H
#define REPORT_VIEW_ESTIMATE_H

#include <stdio.h>

#include "base/units.h"
#include "report/analyze/rows.h"

struct estimate_text {
	char text[sizeof(struct units_text) + 8];
};

/* Empty where there is none. */
static inline struct estimate_text estimate_error(const struct figure *error)
{
	struct estimate_text text = { "" };

	if (!error->absent)
		snprintf(text.text, sizeof(text.text), " \xc2\xb1 %s",
			 units_size((uint64_t)error->value).text);
	return text;
}

#endif
