/* SPDX-License-Identifier: MIT */
/*
 * stack - call stacks of a chosen depth, of functions whose frames differ in size.
 *
 *	struct path path = path_make(seed);
 *	path_descend(&path, 15, use, arg);	// calls use(arg) at the end of 15 calls
 *
 * None of the functions keeps a frame pointer.
 */
#ifndef BENCH_UNWIND_STACK_H
#define BENCH_UNWIND_STACK_H

#include <stdint.h>

#define NOINLINE __attribute__((noinline, noclone))

enum {
	PATH_MAX_CALLS = 64,
};

/* Which function is called at each turn. */
struct path {
	uint8_t turn[PATH_MAX_CALLS];
};

typedef void path_end(void *arg);

struct path path_make(uint32_t seed);
void path_descend(const struct path *path, int nr, path_end *end, void *arg);

#endif
