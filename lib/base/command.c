/* SPDX-License-Identifier: MIT */
#include "base/command.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"

static bool needs_quotes(const char *argument)
{
	return !*argument || strpbrk(argument, " \t\n'\"\\$*?;&|<>(){}[]`#~!");
}

static void add_quoted(struct strbuf *out, const char *argument)
{
	strbuf_add(out, "'");
	for (; *argument; argument++)
		if (*argument == '\'')
			strbuf_add(out, "'\\''");
		else
			strbuf_add_bytes(out, argument, 1);
	strbuf_add(out, "'");
}

char *command_fit(const char *const *arguments, size_t nr, size_t width)
{
	struct strbuf out = { 0 };
	char *joined, *clean, *fitting;

	for (size_t i = 0; i < nr; i++) {
		strbuf_add(&out, i ? " " : "");
		if (needs_quotes(arguments[i]))
			add_quoted(&out, arguments[i]);
		else
			strbuf_add(&out, arguments[i]);
	}
	joined = strbuf_take(&out);
	clean = text_clean(joined);
	fitting = text_clip(clean, width);
	free(joined);
	free(clean);
	return fitting;
}
