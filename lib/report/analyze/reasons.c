/* SPDX-License-Identifier: MIT */
#include "report/analyze/reasons.h"

#include <stdlib.h>

#include "base/alloc.h"

const char *reasons_of_sides(struct intern *texts, const char *no_cpu, const char *no_heap)
{
	const char *kept;
	char *both;

	if (!no_cpu || !no_heap)
		return no_cpu ?: no_heap;
	both = xasprintf("CPU: %s; heap: %s", no_cpu, no_heap);
	kept = intern_text(texts, intern_add(texts, both));
	free(both);
	return kept;
}
