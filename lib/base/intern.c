/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void intern_release(struct intern *intern)
{
	for (size_t i = 0; i < intern->nr; i++)
		free(intern->text[i]);
	free(intern->text);
	free(intern->hash);
	free(intern->index);
	*intern = (struct intern){ 0 };
}

/* FNV-1a, 64 bits. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static size_t slot_of(const struct intern *intern, uint64_t hash, const char *text)
{
	size_t mask = intern->index_room - 1;
	size_t i = (hash ^ (hash >> 32)) & mask;

	while (intern->index[i]) {
		uint32_t id = intern->index[i] - 1;

		if (intern->hash[id] == hash && !strcmp(intern->text[id], text))
			break;
		i = (i + 1) & mask;
	}
	return i;
}

static void grow_index(struct intern *intern)
{
	free(intern->index);
	intern->index_room = intern->index_room ? intern->index_room * 2 : 64;
	intern->index = xcalloc(intern->index_room, sizeof(intern->index[0]));
	for (size_t id = 0; id < intern->nr; id++)
		intern->index[slot_of(intern, intern->hash[id], intern->text[id])] = id + 1;
}

static uint32_t append(struct intern *intern, uint64_t hash, const char *text)
{
	if (intern->nr == intern->room) {
		intern->room = intern->room ? intern->room * 2 : 32;
		intern->text = xreallocarray(intern->text, intern->room, sizeof(char *));
		intern->hash = xreallocarray(intern->hash, intern->room, sizeof(uint64_t));
	}
	intern->text[intern->nr] = xstrdup(text);
	intern->hash[intern->nr] = hash;
	return intern->nr++;
}

uint32_t intern_add(struct intern *intern, const char *text)
{
	uint64_t hash = hash_text(text);

	if (intern->nr * 2 >= intern->index_room)
		grow_index(intern);

	size_t slot = slot_of(intern, hash, text);

	if (!intern->index[slot])
		intern->index[slot] = append(intern, hash, text) + 1;
	return intern->index[slot] - 1;
}

const char *intern_text(const struct intern *intern, uint32_t id)
{
	return id < intern->nr ? intern->text[id] : NULL;
}
