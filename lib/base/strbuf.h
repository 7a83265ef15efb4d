/* SPDX-License-Identifier: MIT */
/*
 * strbuf - text that grows.
 *
 *	struct strbuf list = { 0 };
 *
 *	for (...)
 *		strbuf_add_item(&list, ", ", name);
 *	text = strbuf_take(&list);	// "a, b, c"; free it
 *
 * A zeroed struct is the empty text.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stddef.h>

struct strbuf {
	char *at; /* ends with a 0 that nr does not count; NULL: nothing was added yet */
	size_t nr, room;
};

void strbuf_add(struct strbuf *buf, const char *text);
void strbuf_add_bytes(struct strbuf *buf, const char *bytes, size_t nr);
/* With the separator before it, unless it is the first. */
void strbuf_add_item(struct strbuf *buf, const char *separator, const char *item);

/* The text, never NULL, which is the caller's to free; the buffer is empty then. */
char *strbuf_take(struct strbuf *buf);

#endif
