/* SPDX-License-Identifier: MIT */
/*
 * operators - C++'s new and delete, which the shim stands in front of as far as it must.
 *
 *	static OPERATOR struct operator_hook op = { .name = "_Znwm", .call = first, .counted = counted };
 *
 *	block = ((operator_new *)op.call)(size, a, b);
 *
 * As a rule they call malloc and free, where all is seen: what is reached by `call` is then the next
 * definition after ours, and the loader, once it can be told so, finds that instead of ours.  An
 * allocator in the place of malloc has new and delete beside it: of these `call` is `counted`, which
 * passes calls on to `next`.
 */
#ifndef SHIM_OPERATORS_H
#define SHIM_OPERATORS_H

#include <stddef.h>
#include <stdint.h>

/* Alignment, size and std::nothrow, as far as an operator has them, are passed on unseen. */
typedef void *operator_new(size_t size, uintptr_t a, uintptr_t b);
typedef void operator_delete(void *block, uintptr_t a, uintptr_t b);

/* operator_new or operator_delete. */
typedef void operator_function(void);

/* All of them are in one section, in a row: as large as compilers like to align it. */
struct operator_hook {
	_Alignas(64) const char *name;
	operator_function *call;    /* at first: finds it, and calls again */
	operator_function *counted; /* passes on to next, and counts */
	operator_function *plain;   /* made of malloc or free: where there is no other */
	operator_function *next;
};

#define OPERATOR __attribute__((section("cprof_operators"), used))

/* Once malloc is found.  May allocate, as dlsym() does. */
void operators_find(void);

#endif
