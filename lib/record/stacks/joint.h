/* SPDX-License-Identifier: MIT */
/*
 * joint - where a walk meets a stack of its thread that is remembered as a whole.
 *
 *	if (joint_find(&walk))
 *		// walk.joined has the callers from walk.nr_kept - 1 down to the root, 0
 */
#ifndef RECORD_STACKS_JOINT_H
#define RECORD_STACKS_JOINT_H

#include <stdbool.h>

#include "record/stacks/walk.h"

/*
 * A frame at the same place of the stack and in the same function as one of a whole stack before:
 * its callers are the same, unless stacks do not agree on that.
 */
bool joint_find(struct walk *walk);

#endif
