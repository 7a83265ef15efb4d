/* SPDX-License-Identifier: MIT */
#include "symbolize/qualify.h"

#include <dwarf.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "symbolize/die.h"
#include "symbolize/walk.h"

enum { DEPTH_MAX = 64 }; /* of a name; damaged entries may go in circles */

#define NOTHING UINT32_MAX

/* Something that has functions in it. */
struct container {
	Dwarf_Die die;
	uint32_t outer;
};

struct declaration {
	const void *die; /* its address: they are in this order */
	uint32_t outer;
};

struct declarations {
	bool thorough; /* those within functions as well */
	VEC(struct container) containers;
	VEC(struct declaration) functions;
};

static uint32_t add_container(struct declarations *in, const Dwarf_Die *die, uint32_t outer)
{
	vec_push(&in->containers, (struct container){ *die, outer });
	return (uint32_t)in->containers.nr - 1;
}

static uint32_t visit(void *context, Dwarf_Die *die, uint32_t outer)
{
	struct declarations *in = context;

	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		vec_push(&in->functions, (struct declaration){ die->addr, outer });
		return in->thorough ? add_container(in, die, outer) : WALK_PAST;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		return add_container(in, die, outer);
	}
	return outer;
}

static void read_declarations(struct declarations *in, Dwarf_Die *die)
{
	Dwarf_Die unit;

	in->containers.nr = in->functions.nr = 0;
	if (dwarf_diecu(die, &unit, NULL, NULL))
		walk_unit(&unit, NOTHING, visit, in);
}

static struct declarations *declarations_of(struct qualifier *qualifier, Dwarf_Die *die)
{
	bool added;
	uint64_t *known = map_add(&qualifier->units, (uintptr_t)die->cu, &added);

	if (added) {
		struct declarations *in = xcalloc(1, sizeof(*in));

		*known = (uintptr_t)in;
		read_declarations(in, die);
		return in;
	}
	return (struct declarations *)(uintptr_t)*known;
}

static int by_address(const void *left, const void *right)
{
	const struct declaration *a = left, *b = right;

	return a->die < b->die ? -1 : a->die > b->die;
}

static const struct declaration *find_function(const struct declarations *in, const Dwarf_Die *die)
{
	struct declaration key = { .die = die->addr };

	return in->functions.nr
		       ? bsearch(&key, in->functions.at, in->functions.nr, sizeof(key), by_address)
		       : NULL;
}

static uint32_t find_outer(struct declarations *in, Dwarf_Die *die)
{
	const struct declaration *found = find_function(in, die);

	if (!found && !in->thorough) {
		in->thorough = true;
		read_declarations(in, die);
		found = find_function(in, die);
	}
	return found ? found->outer : NOTHING;
}

/* Of a class whose members are described in a type unit, the name is there, too. */
static const char *name_of(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	Dwarf_Attribute signature;
	Dwarf_Die type;

	if (!name && dwarf_attr(die, DW_AT_signature, &signature) &&
	    dwarf_formref_die(&signature, &type))
		name = dwarf_diename(&type);
	if (name)
		return name;
	return dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous class)";
}

static bool has_scopes(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return false;
	}
	return true;
}

static char *put_before(const char *outer, char *name)
{
	char *whole = xasprintf("%s::%s", outer, name);

	free(name);
	return whole;
}

/* A member's definition may stand outside of its class; the declaration does not. */
static uint32_t outer_of(struct qualifier *qualifier, struct declarations **in, uint32_t inner)
{
	struct container *container = &(*in)->containers.at[inner];
	Dwarf_Die declaration = die_declaration(&container->die);

	if (declaration.addr == container->die.addr)
		return container->outer;
	*in = declarations_of(qualifier, &declaration);
	return find_outer(*in, &declaration);
}

char *qualify(struct qualifier *qualifier, Dwarf_Die *function, const char *name)
{
	Dwarf_Die die = die_declaration(function);
	char *whole = NULL;
	int depth = 0;

	if (!has_scopes(&die))
		return NULL;
	struct declarations *in = declarations_of(qualifier, &die);
	for (uint32_t outer = find_outer(in, &die); outer != NOTHING && depth++ < DEPTH_MAX;
	     outer = outer_of(qualifier, &in, outer))
		whole = put_before(name_of(&in->containers.at[outer].die),
				   whole ? whole : xstrdup(name));
	return whole;
}

void qualifier_release(struct qualifier *qualifier)
{
	map_each(&qualifier->units, unit)
	{
		struct declarations *in = (struct declarations *)(uintptr_t)unit->value;

		vec_free(&in->containers);
		vec_free(&in->functions);
		free(in);
	}
	map_release(&qualifier->units);
}
