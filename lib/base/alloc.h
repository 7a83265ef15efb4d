/* SPDX-License-Identifier: MIT */
/*
 * alloc - memory that is there, or the process ends.
 *
 * A recorder without memory cannot do its job and the file holds what was committed, so running
 * out goes through one function: it tells the handler that cmd/ set, then aborts.
 * Sizes that come from a file, a ring or the target are checked before they get here.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>

void alloc_set_out_of_memory(void (*handler)(size_t size_bytes));
/* For those who allocate by other means. */
void alloc_failed(size_t size_bytes) __attribute__((noreturn));

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t nr, size_t size) __attribute__((malloc, returns_nonnull));
/* Resizes to nr * size bytes; an overflow counts as out of memory. */
void *xreallocarray(void *old, size_t nr, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *text, size_t length) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* For a process with several threads that allocate a lot: one heap for all of them, which grows in
 * large steps and does not shrink.  The heaps that malloc() makes for threads grow by a page at a
 * time, each time at the cost of a call, and a round to all CPUs. */
void alloc_share_heap(void);

#endif
