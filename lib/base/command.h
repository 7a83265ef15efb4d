/* SPDX-License-Identifier: MIT */
/*
 * command - a program and its arguments as one line, as a shell wants them.
 *
 *	char *line = command_fit(arguments, nr, 80);	// "./app --size 3 'two words'"; free it
 */
#ifndef BASE_COMMAND_H
#define BASE_COMMAND_H

#include <stddef.h>

/*
 * With spaces between the arguments, quotes around those that need them, in at most width columns
 * (see text_clip()), and safe to print.
 */
char *command_fit(const char *const *arguments, size_t nr, size_t width);

#endif
