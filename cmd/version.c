/* SPDX-License-Identifier: MIT */
#include "cmd/version.h"

#include "base/alloc.h"

static const struct {
	const char *library, *use;
	int in;
} optional[] = {
#ifdef HAVE_PFM
	{ "libpfm", "event names of this CPU", 1 },
#else
	{ "libpfm", "event names of this CPU", 0 },
#endif
};

void version_print(FILE *out)
{
	fprintf(out, "cprof %s\n", CPROF_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(optional); i++)
		fprintf(out, "%-4s %-10s %s\n", optional[i].in ? "with" : "no", optional[i].library,
			optional[i].use);
}
