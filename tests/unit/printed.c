/* SPDX-License-Identifier: MIT */
#include "printed.h"

#include <stdio.h>

char *printed(struct toy *toy, const struct report_options *options)
{
	struct report *report = report_new(toy_profile(toy));
	struct error err = ERROR_INIT;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_assert(eq(int, report_print(report, options, out, &err), 0), "%s", err.message);
	fclose(out);
	report_close(report);
	return text;
}
