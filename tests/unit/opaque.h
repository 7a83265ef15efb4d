/* SPDX-License-Identifier: MIT */
/* opaque - of a function whose frames are to be walked: each call has one, without a frame pointer. */
#ifndef TESTS_OPAQUE_H
#define TESTS_OPAQUE_H

#ifdef __clang__
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE \
	__attribute__((noinline, optimize("omit-frame-pointer", "no-optimize-sibling-calls")))
#endif

#endif
