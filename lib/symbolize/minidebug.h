/* SPDX-License-Identifier: MIT */
/*
 * minidebug - the compressed symbol table that Fedora and others leave in stripped files
 * (.gnu_debugdata).
 *
 *	struct minidebug *mini = minidebug_read(&tab, fd);	// NULL if there is none
 *	...							// uses the symbols
 *	minidebug_close(mini);
 */
#ifndef SYMBOLIZE_MINIDEBUG_H
#define SYMBOLIZE_MINIDEBUG_H

#include "symbolize/symtab.h"

/* Adds the symbols to tab, which borrows their names. */
struct minidebug *minidebug_read(struct symtab *tab, int fd);
void minidebug_close(struct minidebug *mini);

#endif
