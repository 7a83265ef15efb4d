/* SPDX-License-Identifier: MIT */
/*
 * intern - one copy of each distinct byte string, numbered from 0.
 *
 *	struct intern names = { 0 };
 *	uint32_t id = intern_add(&names, "main");
 *	const char *text = intern_text(&names, id);	// valid until release
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern {
	char **text;
	uint64_t *hash;
	size_t nr, room;
	uint32_t *index; /* open addressing; id + 1, 0 is free */
	size_t index_room;
};

void intern_release(struct intern *intern);
uint32_t intern_add(struct intern *intern, const char *text);
const char *intern_text(const struct intern *intern, uint32_t id);

#endif
