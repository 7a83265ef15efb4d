/* SPDX-License-Identifier: MIT */
#include "base/strbuf.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

void strbuf_add_bytes(struct strbuf *buf, const char *bytes, size_t nr)
{
	vec_reserve(buf, buf->nr + nr + 1);
	memcpy(buf->at + buf->nr, bytes, nr);
	buf->nr += nr;
	buf->at[buf->nr] = '\0';
}

void strbuf_add(struct strbuf *buf, const char *text)
{
	strbuf_add_bytes(buf, text, strlen(text));
}

void strbuf_add_item(struct strbuf *buf, const char *separator, const char *item)
{
	strbuf_add(buf, buf->nr ? separator : "");
	strbuf_add(buf, item);
}

char *strbuf_take(struct strbuf *buf)
{
	char *text = buf->at ? buf->at : xstrdup("");

	*buf = (struct strbuf){ 0 };
	return text;
}
