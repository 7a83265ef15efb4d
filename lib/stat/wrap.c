/* SPDX-License-Identifier: MIT */
#include "stat/wrap.h"

#include <string.h>

#include "base/text.h"

enum { COLUMNS = 80 };

void wrap_print(const char *text, int indent, FILE *out)
{
	while (*text) {
		size_t length = text_line(text, COLUMNS - (size_t)indent);

		fprintf(out, "%*s%.*s\n", indent, "", (int)length, text);
		text += length;
		text += strspn(text, " ");
	}
}
