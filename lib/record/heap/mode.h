/* SPDX-License-Identifier: MIT */
/*
 * mode - what the figures of a heap are where not every block is followed.
 *
 *	heap_model_figures(model, image, &figures);
 *	...						// counted_*: what the shim counted
 *	mode_adjust(WIRE_MODE_COUNTS, &figures);
 *
 * The shim counts every operation in every mode: these sums take the place of the model's, which
 * has only heard of a sample of them, or of none.  Where it should have heard of all, the difference
 * is what was lost, and bounds the peak: whatever the order, what was live then is no more than the
 * model's peak and all bytes that it does not know of.
 */
#ifndef RECORD_HEAP_MODE_H
#define RECORD_HEAP_MODE_H

#include "shim/wire.h"
#include "store/profile.h"

void mode_adjust(enum wire_mode mode, struct profile_heap *figures);

#endif
