/* SPDX-License-Identifier: MIT */
/*
 * remedy - why the names of a file are not all that they could be, and what would help.
 *
 *	char *reason = remedy_for(&lack);	// for free(); NULL: nothing is missing
 *
 *	"stripped, only exported functions have names; install libsqlite3-0-dbgsym
 *	or try --debuginfod"
 */
#ifndef SYMBOLIZE_REMEDY_H
#define SYMBOLIZE_REMEDY_H

#include <stdbool.h>
#include <stddef.h>

#include "symbolize/binary.h"
#include "symbolize/means.h"
#include "symbolize/units.h"

struct lack {
	const char *path; /* of the module, or NULL */
	const struct binary *binary;
	const struct units *units;
	bool has_symbols;
	bool stripped;
	bool mostly_outside; /* of the code that its debug information describes */
	size_t nr_left_out;  /* addresses that the budget left without lines */
	struct means *means;
};

char *remedy_for(const struct lack *lack);

#endif
