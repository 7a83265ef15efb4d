/* SPDX-License-Identifier: MIT */
#include "stat/wrap.h"

#include <string.h>

enum { COLUMNS = 80 };

void wrap_print(const char *text, int indent, FILE *out)
{
	int column = 0;

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column && column + 1 + length > COLUMNS) {
			fputc('\n', out);
			column = 0;
		}
		column += fprintf(out, "%*s%.*s", column ? 1 : indent, "", length, text);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}
