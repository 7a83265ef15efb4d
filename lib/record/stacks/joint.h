/* SPDX-License-Identifier: MIT */
/*
 * joint - where a walk meets a stack of its thread that is remembered as a whole.
 *
 *	if (joint_find(&walk, return_at))
 *		// walk.joined has the callers from walk.nr_kept - 1 down to the root, 0
 */
#ifndef RECORD_STACKS_JOINT_H
#define RECORD_STACKS_JOINT_H

#include <stdbool.h>

#include "record/stacks/walk.h"

/*
 * The frame added last has its return address in the same place as that of two whole stacks at
 * least, is in the same function, and in one of them at the same call: its callers are the same
 * functions as there, unless whole stacks do not agree on that.  Which of its calls each caller has
 * made may differ.
 *
 * return_at: 0 if that is not known.
 */
bool joint_find(struct walk *walk, uint64_t return_at);

#endif
