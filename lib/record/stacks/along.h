/* SPDX-License-Identifier: MIT */
/*
 * along - goes up a stack as the thread's last ones did, where the words are still the same.
 *
 *	walk_along(&walk);		// from walk.frame, which has not been added yet
 *
 * Of thousands of frames all but the innermost are mostly those of the sample before.  From a frame
 * with the same registers, callers follow as long as each return address, and each frame pointer
 * that was saved, is in its place: a few instructions a frame instead of looking up its rule and
 * taking a step by it.  The walk goes on where that ends.
 */
#ifndef RECORD_STACKS_ALONG_H
#define RECORD_STACKS_ALONG_H

#include "record/stacks/walk.h"

void walk_along(struct walk *walk);

#endif
