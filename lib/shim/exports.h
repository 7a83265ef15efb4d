/* SPDX-License-Identifier: MIT */
/*
 * exports - taking back names that the shim exports.
 *
 *	exports_hide("_Z");	// from here on nobody finds a function of ours with such a name
 *
 * For names that a program may have without them being known to all of it: a plugin that was loaded
 * for itself finds its own C++ library's operator new, unless one of that name is in front.  What
 * was linked before stays as it is.
 */
#ifndef SHIM_EXPORTS_H
#define SHIM_EXPORTS_H

#include <stdbool.h>

/* False where the loader cannot be told (musl's, which keeps a table of its own). */
bool exports_hide(const char *prefix);

#endif
