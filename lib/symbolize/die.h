/* SPDX-License-Identifier: MIT */
/*
 * die - what a DWARF entry says of itself.
 *
 *	struct die_pcs pcs;
 *
 *	die_pcs(&pcs, &die);		// one pass through its attributes
 *	if (pcs.has_code)
 *		die_each_range(&die, &pcs, use, context);
 *
 *	die_describe(&die, &function, &paths);	// follows abstract origins and specifications
 */
#ifndef SYMBOLIZE_DIE_H
#define SYMBOLIZE_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "symbolize/functions.h"
#include "symbolize/paths.h"

#define DIE_NO_FILE UINT32_MAX

struct die_pcs {
	Dwarf_Attribute low, high, ranges; /* valp NULL: not there */
	bool has_code;
	uint32_t call_file, call_line; /* DIE_NO_FILE, 0: not stated, as in DWARF 2 */
};

void die_read_pcs(struct die_pcs *pcs, Dwarf_Die *die);

void die_each_range(Dwarf_Die *die, struct die_pcs *pcs,
		    void (*use)(void *context, uint64_t start, uint64_t end), void *context);

/* Where the code is entered; false if that is not known. */
bool die_entry(Dwarf_Die *die, uint64_t *address);

/*
 * What all instances of a function, inlined or not, share: the entry to name it by.  The DIE
 * itself if it has no abstract origin.
 */
Dwarf_Die die_origin(Dwarf_Die *die);

/* The entry that stands where the function was declared: in its namespace or class. */
Dwarf_Die die_declaration(Dwarf_Die *die);

/* Fills in symbol, name, file and line, as far as they are known; borrowed from libdw and paths. */
void die_describe(Dwarf_Die *die, struct function *function, struct paths *paths);

/* Where the unit of the DIE, which has to be its first, was compiled; or NULL. */
const char *die_directory(Dwarf_Die *unit);

#endif
