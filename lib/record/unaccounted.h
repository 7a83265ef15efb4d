/* SPDX-License-Identifier: MIT */
/*
 * unaccounted - what the profile lacks of which image, and why: its heap, or its end.
 *
 *	unaccounted_heap(images, id, "its rings were full");	// at any time, any thread
 *	unaccounted_finish(images, now_ns, true);		// once no more is told of images
 *	use(unaccounted_any_tracked(images), unaccounted_reason(images));
 *
 * Each such image is a line in the quality ledger, with its name and the reason.
 */
#ifndef RECORD_UNACCOUNTED_H
#define RECORD_UNACCOUNTED_H

#include <stdbool.h>
#include <stdint.h>

#include "record/images.h"

/* Why an executed image says no hello, where nothing better is known. */
extern const char unaccounted_not_loaded[];

/* Its heap was not accounted, or no longer. */
void unaccounted_heap(struct images *images, uint32_t id, const char *reason);
/* What the process executes, from then on, says no hello: a filter (seccomp) may forbid it. */
void unaccounted_filtered(struct images *images, int32_t pid, uint64_t time_ns);
/* heap_on: images without a hello are listed as untracked, each with its reason. */
void unaccounted_finish(struct images *images, uint64_t time_ns, bool heap_on);
/* Whether any image's heap was accounted. */
bool unaccounted_any_tracked(const struct images *images);
/* Why the program itself was not tracked, after unaccounted_finish(); NULL: it was. */
const char *unaccounted_reason(const struct images *images);

#endif
