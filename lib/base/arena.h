/* SPDX-License-Identifier: MIT */
/*
 * arena - many small allocations that end together.  One of few takes little, too.
 *
 *	struct arena arena = { 0 };
 *	const char *name = arena_strdup(&arena, text);
 *	arena_release(&arena);		// name is gone
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena {
	struct arena_block *blocks; /* the one in use first */
	size_t used, room;	    /* of the first block */
};

void arena_release(struct arena *arena);

/* Not zeroed, aligned for any type. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((returns_nonnull));
/* NULL gives NULL. */
char *arena_strdup(struct arena *arena, const char *text);
/* Copies length bytes and ends them with a NUL. */
char *arena_strndup(struct arena *arena, const char *text, size_t length)
	__attribute__((returns_nonnull));

#endif
