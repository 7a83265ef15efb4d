/* SPDX-License-Identifier: MIT */
/*
 * naming - chooses the name of a function from all that an ELF file says of it.
 *
 *	struct naming naming = { .module = "libfoo.so.1", .functions = &functions };
 *
 *	symtab_read(&naming.symtab, elf);		// and the other tables
 *	id = naming_add_address(&naming, address);	// by symbols alone
 *	if (naming_add_scope(&naming, unit, scope, address, &id))
 *		use(id);				// by debug information
 *	naming_release(&naming);
 *
 * Each answer is a function of naming.functions, and the same one when it is asked for again.
 */
#ifndef SYMBOLIZE_NAMING_H
#define SYMBOLIZE_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "symbolize/extents.h"
#include "symbolize/functions.h"
#include "symbolize/paths.h"
#include "symbolize/plt.h"
#include "symbolize/qualify.h"
#include "symbolize/symtab.h"
#include "symbolize/unit.h"

struct naming {
	const char *module; /* its name, for addresses without one */
	struct functions *functions;
	struct extents extents;
	struct symtab symtab;
	struct plt plt;
	struct paths paths;
	struct qualifier qualifier;
	struct map known; /* what names a function (a DIE, a symbol) -> id of the function */
};

/* A symbol, a stub, or else module+0xstart of the function or gap around the address. */
uint32_t naming_add_address(struct naming *naming, uint64_t address);

/*
 * A scope of the unit around the address.  False for an inlined function that nothing names: debug
 * information refers to a file that is missing.
 */
bool naming_add_scope(struct naming *naming, struct unit *unit, const struct scope *scope,
		      uint64_t address, uint32_t *id);
void naming_release(struct naming *naming);

#endif
