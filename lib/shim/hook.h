/* SPDX-License-Identifier: MIT */
/*
 * hook - how the functions are written that the shim stands in front of.
 *
 *	EXPORT void *malloc(size_t size)
 *	{
 *		int level = guard_enter(FRAME, GUARD_REAL);
 *		...
 */
#ifndef SHIM_HOOK_H
#define SHIM_HOOK_H

#include <stdint.h>

#include "shim/guard.h"

#define EXPORT __attribute__((visibility("default"))) GUARD_HOOK

/* { the caller's frame pointer, return address } */
#define FRAME ((const uintptr_t *)__builtin_frame_address(0))

#endif
