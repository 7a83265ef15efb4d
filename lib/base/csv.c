/* SPDX-License-Identifier: MIT */
#include "base/csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void put_quoted(const char *text, FILE *out)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

void csv_put_text(const char *text, FILE *out)
{
	char *valid = text_utf8(text);

	if (strpbrk(valid, ",\"\r\n"))
		put_quoted(valid, out);
	else
		fputs(valid, out);
	free(valid);
}

void csv_put_words(const char *const *words, size_t nr, char separator, FILE *out)
{
	char *joined = NULL;
	size_t size;
	FILE *stream = open_memstream(&joined, &size);

	for (size_t i = 0; stream && i < nr; i++) {
		if (i)
			putc(separator, stream);
		fputs(words[i], stream);
	}
	if (stream)
		fclose(stream);
	csv_put_text(joined ? joined : "", out);
	free(joined);
}
