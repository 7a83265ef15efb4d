/* SPDX-License-Identifier: MIT */
#include "stat/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

#define DOT " · "

enum { USUAL = 80, NARROWEST = 40, DOT_WIDTH = 3 };

size_t wrap_width(size_t width)
{
	if (!width)
		return USUAL;
	return width < NARROWEST ? NARROWEST : width;
}

static size_t room(size_t column, size_t width)
{
	return column < width ? width - column : 0;
}

void wrap_print_from(const char *text, size_t column, size_t indent, size_t width, FILE *out)
{
	width = wrap_width(width);
	for (;;) {
		size_t length = text_line(text, room(column, width));

		fprintf(out, "%.*s\n", (int)length, text);
		text += length;
		text += strspn(text, " ");
		if (!*text)
			return;
		fprintf(out, "%*s", (int)indent, "");
		column = indent;
	}
}

void wrap_print(const char *text, size_t indent, size_t width, FILE *out)
{
	fprintf(out, "%*s", (int)indent, "");
	wrap_print_from(text, indent, indent, width, out);
}

/* As strsep(). */
static char *next_phrase(char **rest)
{
	char *phrase = *rest, *end = strstr(phrase, DOT);

	*rest = end ? end + strlen(DOT) : NULL;
	if (end)
		*end = 0;
	return phrase;
}

void wrap_print_phrases(const char *text, size_t indent, size_t width, FILE *out)
{
	char *copy = xstrdup(text), *rest = copy;
	size_t column = indent;

	fprintf(out, "%*s", (int)indent, "");
	while (rest) {
		char *phrase = next_phrase(&rest);
		size_t columns = text_width(phrase);

		if (column > indent && column + DOT_WIDTH + columns <= wrap_width(width)) {
			fputs(DOT, out);
			column += DOT_WIDTH;
		} else if (column > indent) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		fputs(phrase, out);
		column += columns;
	}
	fputc('\n', out);
	free(copy);
}
