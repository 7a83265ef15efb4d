/* SPDX-License-Identifier: MIT */
/*
 * qualify - names with the namespaces, classes and functions that they are declared in.
 *
 *	struct qualifier qualifier = { 0 };
 *
 *	char *name = qualify(&qualifier, &die, "area");	// "shapes::(anonymous namespace)::area"
 *	free(name);					// NULL: there is nothing around it
 *	qualifier_release(&qualifier);
 *
 * For functions without a linkage name: gcc gives none to what no other file can call.  The unit
 * that declares the function is passed over once, when the first name in it is asked for.
 */
#ifndef SYMBOLIZE_QUALIFY_H
#define SYMBOLIZE_QUALIFY_H

#include <elfutils/libdw.h>

#include "base/map.h"

struct qualifier {
	struct map units; /* a unit of libdw's -> what its functions are in */
};

/* Of a function, or an instance of one.  For free(), or NULL. */
char *qualify(struct qualifier *qualifier, Dwarf_Die *function, const char *name);
void qualifier_release(struct qualifier *qualifier);

#endif
