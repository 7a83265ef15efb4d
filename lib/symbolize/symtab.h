/* SPDX-License-Identifier: MIT */
/*
 * symtab - the symbols of an ELF file's code, sorted.
 *
 *	struct symtab tab = { 0 };
 *
 *	symtab_read(&tab, elf);			// .symtab and .dynsym
 *	symtab_read(&tab, debug_elf);		// of the separate debug file
 *	symtab_build(&tab, &extents);
 *	symbol = symtab_find(&tab, address);
 *	symtab_release(&tab);
 *
 * A symbol names the addresses inside its size and no others; never what merely follows it.  One
 * without a size (hand-written assembly) names what follows up to the next symbol, but only inside
 * the function that .eh_frame says it is in.  Where one symbol lies in another, the inner one
 * names its part.
 *
 * Of several names for the same code the one that users know is taken: exported before local,
 * not superseded (@VERSION), with fewer leading underscores, a function, strong, short.  So
 * "malloc" is not called "__libc_malloc", nor "write" "__GI___write".
 *
 * Borrowed: the names, from the Elf; keep that open.
 */
#ifndef SYMBOLIZE_SYMTAB_H
#define SYMBOLIZE_SYMTAB_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbolize/extents.h"
#include "symbolize/segments.h"

struct symbol {
	uint64_t start, size;
	const char *name; /* may end with "@VERSION" */
	uint32_t rank;	  /* as a name for this address; lower is better */
};

struct symtab {
	VEC(struct symbol) at;
	struct segments sized, unsized;
};

void symtab_read(struct symtab *tab, Elf *elf);

/* For symbols from elsewhere.  Ignores what is not code; superseded: an old version of a name. */
void symtab_add(struct symtab *tab, const GElf_Sym *sym, const char *name, bool superseded);
void symtab_build(struct symtab *tab, const struct extents *extents);

/* The symbol that names the address, or NULL. */
const struct symbol *symtab_find(const struct symtab *tab, uint64_t address);
/*
 * The best of those that start at the address, or NULL.  One called preferred (may be NULL) is
 * taken if the best is better only by its spelling.
 */
const struct symbol *symtab_at(const struct symtab *tab, uint64_t start, const char *preferred);
/* The address at which the unnamed stretch around this one starts. */
uint64_t symtab_gap_start(const struct symtab *tab, uint64_t address);

/* The name without "@VERSION": its length. */
size_t symbol_name_length(const struct symbol *symbol);

void symtab_release(struct symtab *tab);

#endif
