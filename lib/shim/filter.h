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
 *
 * An exec forgets the filters, and the kernel does not.  What is handed on is which calls they let
 * through whatever the arguments are; see env.h and inherited.h.
 */
#ifndef SHIM_FILTER_H
#define SHIM_FILTER_H

#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>

struct sock_fprog;

#define FILTER_ARGUMENTS 6

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define FILTER_ARCH AUDIT_ARCH_AARCH64
#endif

/* Set for good with the first filter. */
extern bool filter_is_on;

/* Keeps a copy, unless it is none that the kernel takes.  False: there is no room for it. */
bool filter_add(const struct sock_fprog *program);

/* All filters let the call with these arguments through. */
bool filter_allows(long number, const uint64_t argument[FILTER_ARGUMENTS]);

/* What is known of all filters of this image. */
struct filters {
	uint32_t nr;	/* as in /proc/self/status */
	uint64_t calls; /* that they let through, a bit each; see filter_bit() */
};

#define FILTERS_ALL_CALLS UINT64_MAX

/* Of a call that the shim makes; 0: it makes no such call. */
uint64_t filter_bit(long number);

/* At the start: those that were set before.  What filter_add() adds counts on from there. */
void filter_inherit(struct filters known);
struct filters filter_known(void);

/* The filters let through what a session cannot do without. */
bool filter_suffices(uint64_t calls);

/* What comes out of a program, SECCOMP_RET_...: for tests. */
uint32_t filter_run(const struct sock_fprog *program, long number,
		    const uint64_t argument[FILTER_ARGUMENTS]);

/* Parts of that: how a conditional jump goes, and which results are no objection. */
bool filter_is_taken(uint32_t a, uint16_t condition, uint32_t b);
bool filter_lets_through(uint32_t result);

#endif
