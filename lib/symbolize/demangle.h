/* SPDX-License-Identifier: MIT */
/*
 * demangle - symbols as the source spells them: C++ with parameters, Rust without hashes, D.
 *
 *	demangle("_ZN5Index6lookupERK3Key");	// "Index::lookup(Key const&)"
 *	demangle("_ZN3foo3barEv.cold");		// "foo::bar() [clone .cold]"
 *	demangle("malloc");			// NULL: nothing to do
 */
#ifndef SYMBOLIZE_DEMANGLE_H
#define SYMBOLIZE_DEMANGLE_H

#include <stddef.h>

/* For free(), or NULL if the symbol is not mangled. */
char *demangle(const char *symbol);

/*
 * Compilers call parts and variants of a function name.cold, name.part.0, name.constprop.1,
 * name.isra.0, name.lto_priv.0, name.llvm.123.  The length of the name before all of these.
 */
size_t clone_base_length(const char *symbol);

#endif
