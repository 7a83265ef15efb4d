/* SPDX-License-Identifier: MIT */
/*
 * stretch - a large array that grows where it is.
 *
 *	struct stretch stretch = { 0 };
 *
 *	stretch_grow(&stretch, room * sizeof(struct item));
 *	items = stretch_start(&stretch);		// the same, but when it got many times as large
 *	stretch_release(&stretch);
 *
 * In a virtual machine a page that is touched for the first time may cost 10 us, whoever made it: more
 * than all that is written to it.  So memory that grows is not copied into other memory, or seldom: it
 * has addresses that nobody else gets, many times as many as it has bytes.  From 2 MiB on it is of
 * huge pages where the kernel has them.
 */
#ifndef BASE_STRETCH_H
#define BASE_STRETCH_H

#include <stddef.h>

struct stretch {
	char *at;
	size_t bytes;	 /* that can be used */
	size_t reserved; /* addresses */
};

/* So that it has at least so many bytes.  New ones are zero, and there: nobody waits for their pages. */
void stretch_grow(struct stretch *stretch, size_t bytes);
void stretch_release(struct stretch *stretch);

/* Aligned to a page; NULL when nothing was asked for yet; valid until it grows. */
static inline void *stretch_start(const struct stretch *stretch)
{
	return stretch->at;
}

#endif
