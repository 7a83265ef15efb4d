/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define FIRST_BLOCK ((size_t)1024)
#define LARGEST_BLOCK ((size_t)64 * 1024) /* each is twice the one before, up to this */
#define ALIGNMENT alignof(max_align_t)

struct arena_block {
	struct arena_block *next;
	max_align_t data[];
};

void arena_release(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	*arena = (struct arena){ 0 };
}

static struct arena_block *new_block(size_t size)
{
	/* An overflow must fail, not wrap. */
	return xmalloc(size > SIZE_MAX - sizeof(struct arena_block)
			       ? SIZE_MAX
			       : sizeof(struct arena_block) + size);
}

/* A large piece gets a block of its own, behind the one in use. */
static void *alloc_alone(struct arena *arena, size_t size)
{
	struct arena_block *block = new_block(size);

	block->next = arena->blocks->next;
	arena->blocks->next = block;
	return block->data;
}

static void add_block(struct arena *arena, size_t size)
{
	size_t room = arena->room ? arena->room * 2 : FIRST_BLOCK;
	struct arena_block *block;

	while (room < size)
		room *= 2;
	if (room > LARGEST_BLOCK)
		room = LARGEST_BLOCK;
	block = new_block(room);
	block->next = arena->blocks;
	arena->blocks = block;
	arena->used = 0;
	arena->room = room;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	bool is_large = size > LARGEST_BLOCK / 4;

	if (!arena->blocks)
		add_block(arena, is_large ? 0 : size);
	if (is_large)
		return alloc_alone(arena, size);
	if (size > arena->room - arena->used)
		add_block(arena, size);

	void *piece = (char *)arena->blocks->data + arena->used;

	arena->used += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (arena->used > arena->room)
		arena->used = arena->room;
	return piece;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}
