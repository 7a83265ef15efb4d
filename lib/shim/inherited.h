/* SPDX-License-Identifier: MIT */
/*
 * inherited - the filters of system calls (seccomp) that were set before this image was executed.
 *
 *	if (inherited_allow_session(known, nr_of_recorder))
 *		...;				// from here on filter.h knows what may be called
 *
 * The kernel keeps them over an exec, and to make a call that one forbids may be the end of the program.
 * How many there are is read in /proc, by calls that the loader has just made.  Those that the recorder
 * has as well are no obstacle to what it started; those that an image set which was tracked are known.
 * With any others the shim stays off, and makes no call any more but those of the loader.
 */
#ifndef SHIM_INHERITED_H
#define SHIM_INHERITED_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/filter.h"

/* known: to who executed this image. */
bool inherited_allow_session(struct filters known, uint32_t nr_of_recorder);

#endif
