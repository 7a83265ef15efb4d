/* SPDX-License-Identifier: MIT */
/*
 * arguments - a list of arguments, as execl() has it, as an array, as execv() wants it.
 *
 *	va_start(list, first);
 *	if (arguments_collect(&arguments, first, &list, alloca(arguments_room(&list)))) {
 *		use(arguments.all);
 *		arguments_release(&arguments);
 *	}
 *	va_end(list);
 *
 * Does not allocate, and takes no more of the stack than there are.
 */
#ifndef SHIM_ARGUMENTS_H
#define SHIM_ARGUMENTS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* More get memory of their own. */
#define ARGUMENTS_ROOM_MAX 2048

struct arguments {
	char **all; /* ends with NULL */
	size_t mapped_bytes;
};

/* Bytes for the first one, the rest and the NULL that ends it; 0: there are very many. */
size_t arguments_room(va_list *rest);

/*
 * Takes the rest up to and with the NULL that ends it, so that what follows is next.  False if
 * there is no memory for so many; nothing is taken then.
 */
bool arguments_collect(struct arguments *arguments, const char *first, va_list *rest, void *room);
void arguments_release(struct arguments *arguments);

#endif
