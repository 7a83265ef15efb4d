/* SPDX-License-Identifier: MIT */
/*
 * beyond - goes on with a walk that came to the end of the copied words.
 *
 *	if (stack.end == UNWIND_END_BAD_READ)
 *		walk_beyond(&walk);
 *
 * By what stacks.h lists, in that order.  Where that leads nowhere, walk.return_at is what another
 * stack of the thread may help with later.
 */
#ifndef RECORD_STACKS_BEYOND_H
#define RECORD_STACKS_BEYOND_H

#include "record/stacks/walk.h"

void walk_beyond(struct walk *walk);

#endif
