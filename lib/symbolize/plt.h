/* SPDX-License-Identifier: MIT */
/*
 * plt - the stubs through which a file calls functions of others.
 *
 *	struct plt plt = { 0 };
 *
 *	plt_read(&plt, elf, &symtab);
 *	const struct plt_entry *entry = plt_find(&plt, address);	// to "malloc"
 *	plt_release(&plt);
 *
 * An entry jumps through a slot of the global offset table, and the relocation of that slot has
 * the name; so .plt, .plt.sec and .plt.got are read the same way, in whatever order the linker
 * laid them out.
 */
#ifndef SYMBOLIZE_PLT_H
#define SYMBOLIZE_PLT_H

#include <gelf.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbolize/symtab.h"

struct plt_entry {
	uint64_t start, end;
	uint64_t slot; /* in the global offset table */
	char *name;    /* of the function that is called; NULL: no relocation names the slot */
};

struct plt {
	VEC(struct plt_entry) at;
};

/* symtab names the local functions that an entry may stand for. */
void plt_read(struct plt *plt, Elf *elf, const struct symtab *symtab);
const struct plt_entry *plt_find(const struct plt *plt, uint64_t address);
void plt_release(struct plt *plt);

#endif
