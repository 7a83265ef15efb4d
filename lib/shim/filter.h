/* SPDX-License-Identifier: MIT */
/*
 * filter - what the program's own filters of system calls (seccomp) let through.
 *
 *	filter_add(program);				// before it is installed
 *
 *	if (filter_allows(__NR_futex, argument))
 *		...;					// the kernel will not object
 *
 * A filter may end the program for a call that it never makes itself.  So each is kept and run, by
 * the kernel's rules, before each call of ours, which is left out if it would be refused.  The
 * address of the call, which filters see, is taken for one that they do not know.  One that the
 * kernel then refuses, of which we do not hear, is kept as well.
 */
#ifndef SHIM_FILTER_H
#define SHIM_FILTER_H

#include <stdbool.h>
#include <stdint.h>

struct sock_fprog;

#define FILTER_ARGUMENTS 6

/* Set for good with the first filter. */
extern bool filter_is_on;

/* Keeps a copy, unless it is none that the kernel takes.  False: there is no room for it. */
bool filter_add(const struct sock_fprog *program);

/* All filters let the call with these arguments through. */
bool filter_allows(long number, const uint64_t argument[FILTER_ARGUMENTS]);

/* What comes out of a program, SECCOMP_RET_...: for tests. */
uint32_t filter_run(const struct sock_fprog *program, long number,
		    const uint64_t argument[FILTER_ARGUMENTS]);

#endif
