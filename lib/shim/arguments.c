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

static size_t bytes_of(size_t nr)
{
	return (nr + 1) * sizeof(char *);
}

size_t arguments_room(va_list *rest)
{
	size_t bytes = bytes_of(count(rest));

	return bytes <= ARGUMENTS_ROOM_MAX ? bytes : 0;
}

bool arguments_collect(struct arguments *arguments, const char *first, va_list *rest, void *room)
{
	size_t nr = count(rest);

	arguments->all = room;
	arguments->mapped_bytes = 0;
	if (bytes_of(nr) > ARGUMENTS_ROOM_MAX) {
		arguments->mapped_bytes = bytes_of(nr);
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
