/* SPDX-License-Identifier: MIT */
/*
 * filter_always - what a filter of system calls lets through whatever the arguments are.
 *
 *	if (filter_always_allows(program, __NR_futex))
 *		...;			// no call of futex() will be refused
 *
 * It goes all ways through the program that may be gone when only the number is known, and is on the
 * safe side: false may be said of what would never be refused.
 */
#ifndef SHIM_FILTER_ALWAYS_H
#define SHIM_FILTER_ALWAYS_H

#include <stdbool.h>

struct sock_fprog;

bool filter_always_allows(const struct sock_fprog *program, long number);

#endif
