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
 * A symbol names the addresses inside its size and no others; never what merely follows it.  Where
 * one symbol lies in another, the inner one names its part.
 *
 * A symbol without a size (assembly: nasm cannot even give one) names what follows it in its
 * section up to the next symbol, to the end of the function that .eh_frame says it is in, or, if
 * it is in none, to where the next one starts.  The last only if there is a .symtab: a .dynsym has
 * few of many.
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
	uint64_t section_end;
	const char *name; /* may end with "@VERSION" */
	uint32_t rank;	  /* as a name for this address; lower is better */
};

struct symtab {
	VEC(struct symbol) at;
	struct segments sized, unsized;
	bool complete; /* it lists all functions, not only those that are exported */
};

void symtab_read(struct symtab *tab, Elf *elf);

/*
 * For symbols from elsewhere; elf is where their sections are.  Ignores what is not code.
 * superseded: this is an old version of the name.
 */
void symtab_add_from(struct symtab *tab, Elf *elf, const GElf_Sym *sym, const char *name,
		     bool superseded);
void symtab_add(struct symtab *tab, const GElf_Sym *sym, const char *name, bool superseded,
		uint64_t section_end);
void symtab_build(struct symtab *tab, const struct extents *extents);

/* The symbol that names the address, or NULL. */
const struct symbol *symtab_find(const struct symtab *tab, uint64_t address);
/*
 * The best of those that start at the address, or NULL.  One called preferred (may be NULL) is
 * taken if the best is better only by its spelling.
 */
const struct symbol *symtab_at(const struct symtab *tab, uint64_t start, const char *preferred);
/* Where the unnamed stretch around the address starts. */
uint64_t symtab_gap_start(const struct symtab *tab, uint64_t address);

/* The name without "@VERSION": its length. */
size_t symbol_name_length(const struct symbol *symbol);

void symtab_release(struct symtab *tab);

#endif
