/* SPDX-License-Identifier: MIT */
/*
 * obstacle - what keeps the heap of a program from being accounted, as far as it shows from
 * outside.
 *
 *	const char *reason = obstacle_find(pid, shim);
 *
 * To be asked right after the exec.  A program that reports all the same has overcome it: a limit
 * of the address space may be wide enough, another namespace may be within reach (heap/door.h).
 */
#ifndef RECORD_OBSTACLE_H
#define RECORD_OBSTACLE_H

#include <stdint.h>

/* The one that who executes may see, too. */
extern const char obstacle_filtered[];

/* NULL: none is seen.  shim: the path of libcprof-heap.so; NULL: nothing preloads it. */
const char *obstacle_find(int32_t pid, const char *shim);
/* Before it is executed, or after its end: only what the file itself tells. */
const char *obstacle_find_in(const char *path);

#endif
