/* SPDX-License-Identifier: MIT */
#include "shim/arguments.h"

#include <stdint.h>

#include "shim/sys.h"

/* With the first, which is not in the list. */
static size_t count(va_list *rest)
{
	va_list copy;
	size_t nr = 1;

	va_copy(copy, *rest);
	while (va_arg(copy, char *))
		nr++;
	va_end(copy);
	return nr;
}

bool arguments_collect(struct arguments *arguments, const char *first, va_list *rest)
{
	size_t nr = count(rest);

	arguments->all = arguments->fixed;
	arguments->mapped_bytes = 0;
	if (nr >= ARGUMENTS_FIXED) {
		arguments->mapped_bytes = (nr + 1) * sizeof(char *);
		arguments->all = sys_mmap_private(arguments->mapped_bytes);
		if (sys_failed(arguments->all))
			return false;
	}
	arguments->all[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i <= nr; i++)
		arguments->all[i] = va_arg(*rest, char *);
	return true;
}

void arguments_release(struct arguments *arguments)
{
	if (arguments->mapped_bytes)
		sys_munmap(arguments->all, arguments->mapped_bytes);
}
