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

/*
 * { the caller's frame pointer, return address }, of which the CFA is the end; where calls push
 * neither, these are not at the end of the frame, and the CFA is the third word of a copy.
 */
#if defined(__x86_64__)
#define FRAME ((const uintptr_t *)__builtin_frame_address(0))
#elif defined(__clang__)
#error "gcc it has to be on this CPU: clang has another idea of __builtin_dwarf_cfa()"
#else
#define FRAME                                                                 \
	((const uintptr_t[]){ *(const uintptr_t *)__builtin_frame_address(0), \
			      (uintptr_t)__builtin_return_address(0),         \
			      (uintptr_t)__builtin_dwarf_cfa() })
#endif

#endif
