/* SPDX-License-Identifier: MIT */
/*
 * arguments - a list of arguments, as execl() has it, as an array, as execv() wants it.
 *
 *	va_start(list, first);
 *	if (arguments_collect(&arguments, first, &list)) {
 *		use(arguments.all);
 *		arguments_release(&arguments);
 *	}
 *	va_end(list);
 *
 * Does not allocate: what does not fit into it is in a mapping of its own.
 */
#ifndef SHIM_ARGUMENTS_H
#define SHIM_ARGUMENTS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define ARGUMENTS_FIXED 256

struct arguments {
	char **all; /* ends with NULL */
	char *fixed[ARGUMENTS_FIXED];
	size_t mapped_bytes;
};

/*
 * Takes the rest up to and with the NULL that ends it, so that what follows is next.  False if
 * there is no memory for so many; nothing is taken then.
 */
bool arguments_collect(struct arguments *arguments, const char *first, va_list *rest);
void arguments_release(struct arguments *arguments);

#endif
