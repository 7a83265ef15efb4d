/* SPDX-License-Identifier: MIT */
/*
 * walk - visits each entry of a unit once, in order, and tells it what it is in.
 *
 *	static uint32_t visit(void *context, Dwarf_Die *die, uint32_t outer)
 *	{
 *		...
 *		return number;		// outer of all that is directly below this entry
 *	}
 *
 *	walk_unit(&unit_die, outermost, visit, context);
 *
 * The unit's own entry is not visited; what is directly below it gets outermost.  An entry whose
 * visit returns WALK_PAST is passed with all that is below it.
 */
#ifndef SYMBOLIZE_WALK_H
#define SYMBOLIZE_WALK_H

#include <elfutils/libdw.h>
#include <stdint.h>

#define WALK_PAST (UINT32_MAX - 1)

typedef uint32_t walk_visit(void *context, Dwarf_Die *die, uint32_t outer);

void walk_unit(Dwarf_Die *unit, uint32_t outermost, walk_visit *visit, void *context);

#endif
