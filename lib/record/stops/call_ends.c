/* SPDX-License-Identifier: MIT */
#include "record/stops/call_ends.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/units.h"

/* Of few samples, or by little, it may be chance. */
#define SAMPLES_MIN 30
#define SHARE_MIN 0.1

void call_ends_add(struct call_ends *ends, struct call_thread *thread,
		   const struct call_sample *sample)
{
	const struct call_thread before = *thread;

	*thread = (struct call_thread){ true, sample->kernel_ns };
	if (!before.is_known)
		return;
	ends->used_ns += sample->used_ns;
	ends->kernel_ns += sample->kernel_ns - before.kernel_ns;
	if (!sample->at_end)
		return;
	ends->nr_at_end++;
	ends->at_end_ns += sample->used_ns;
}

char *call_ends_text(const struct call_ends *ends)
{
	double at_end, kernel;

	if (ends->nr_at_end < SAMPLES_MIN)
		return NULL;
	at_end = (double)ends->at_end_ns / (double)ends->used_ns;
	kernel = (double)ends->kernel_ns / (double)ends->used_ns;
	if (at_end < kernel + SHARE_MIN)
		return NULL;
	return xasprintf("samples at the end of a system call have %s of the CPU time, but the "
			 "kernel %s: short calls may have more than their share",
			 units_percent(at_end).text, units_percent(kernel).text);
}
