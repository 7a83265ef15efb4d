/* SPDX-License-Identifier: MIT */
/*
 * allocator - the allocator that is part of an executable or library, told by its symbols.
 *
 *	struct allocator allocator;
 *
 *	if (allocator_find(&allocator, fd))
 *		printf("%s (%s)", allocator.name, allocator.symbol);	// "jemalloc (_rjem_mallocx)"
 *
 * By functions that it has under whatever prefix it was built with, and that are no part of libc.
 * A file that only calls such a function in a library counts, too: either way blocks come from it
 * that malloc does not know.  Without a symbol table there is nothing to see.  A library that
 * exports malloc beside it is in the place of malloc, and no find.
 */
#ifndef OBJECT_ALLOCATOR_H
#define OBJECT_ALLOCATOR_H

#include <stdbool.h>

struct allocator {
	const char *name;
	char symbol[64]; /* the one it was told by; cut if longer */
};

bool allocator_find(struct allocator *allocator, int fd);
/* The same of a library. */
bool allocator_find_in_library(struct allocator *allocator, int fd);

#endif
