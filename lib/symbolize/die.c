/* SPDX-License-Identifier: MIT */
#include "symbolize/die.h"

#include <dwarf.h>

enum { REFERENCES_MAX = 16 }; /* from one entry to the next; a circle has no end */

static uint32_t small_number(Dwarf_Attribute *attribute)
{
	Dwarf_Word value;

	return dwarf_formudata(attribute, &value) == 0 && value < UINT32_MAX ? (uint32_t)value : 0;
}

static int read_attribute(Dwarf_Attribute *attribute, void *context)
{
	struct die_pcs *pcs = context;

	switch (dwarf_whatattr(attribute)) {
	case DW_AT_low_pc:
		pcs->low = *attribute;
		break;
	case DW_AT_high_pc:
		pcs->high = *attribute;
		break;
	case DW_AT_ranges:
		pcs->ranges = *attribute;
		break;
	case DW_AT_call_file:
		pcs->call_file = small_number(attribute);
		break;
	case DW_AT_call_line:
		pcs->call_line = small_number(attribute);
		break;
	}
	return DWARF_CB_OK;
}

void die_read_pcs(struct die_pcs *pcs, Dwarf_Die *die)
{
	*pcs = (struct die_pcs){ .call_file = DIE_NO_FILE };
	dwarf_getattrs(die, read_attribute, pcs, 0);
	pcs->has_code = pcs->ranges.valp || (pcs->low.valp && pcs->high.valp);
}

/* DW_AT_high_pc is an address or, since DWARF 4, the length. */
static bool plain_range(struct die_pcs *pcs, uint64_t *start, uint64_t *end)
{
	if (dwarf_formaddr(&pcs->low, start) < 0)
		return false;
	if (dwarf_formaddr(&pcs->high, end) == 0)
		return true;

	Dwarf_Word length;
	if (dwarf_formudata(&pcs->high, &length) < 0)
		return false;
	*end = *start + length;
	return true;
}

void die_each_range(Dwarf_Die *die, struct die_pcs *pcs,
		    void (*use)(void *context, uint64_t start, uint64_t end), void *context)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	if (!pcs->ranges.valp) {
		if (plain_range(pcs, &start, &end))
			use(context, start, end);
		return;
	}
	while ((offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0)
		use(context, start, end);
}

bool die_entry(Dwarf_Die *die, uint64_t *address)
{
	return dwarf_entrypc(die, address) == 0;
}

static bool follow(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Die to;

	if (!dwarf_attr(die, name, &attribute) || !dwarf_formref_die(&attribute, &to))
		return false;
	*die = to;
	return true;
}

Dwarf_Die die_origin(Dwarf_Die *die)
{
	Dwarf_Die origin = *die;

	follow(&origin, DW_AT_abstract_origin);
	return origin;
}

Dwarf_Die die_declaration(Dwarf_Die *die)
{
	Dwarf_Die declaration = *die;

	for (int i = 0; i < REFERENCES_MAX; i++)
		if (!follow(&declaration, DW_AT_abstract_origin) &&
		    !follow(&declaration, DW_AT_specification))
			break;
	return declaration;
}

static const char *text(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

const char *die_directory(Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(unit, DW_AT_comp_dir, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/*
 * The file's number counts in the unit that has the attribute, which may be another one.  Not by
 * dwarf_decl_file(), which takes 0 for none: since DWARF 5 it is the unit's own file.
 */
static const char *declaring_file(Dwarf_Die *die, struct paths *paths)
{
	Dwarf_Attribute attribute;
	Dwarf_Half version;
	Dwarf_Word number;
	Dwarf_Files *files;
	Dwarf_Die unit;
	size_t nr;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) ||
	    dwarf_formudata(&attribute, &number) != 0 ||
	    !dwarf_cu_die(attribute.cu, &unit, &version, NULL, NULL, NULL, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &nr) != 0 || number >= nr ||
	    (number == 0 && version < 5))
		return NULL;
	return paths_join(paths, die_directory(&unit), dwarf_filesrc(files, number, NULL, NULL));
}

void die_describe(Dwarf_Die *die, struct function *function, struct paths *paths)
{
	int line = 0;

	function->symbol = text(die, DW_AT_linkage_name);
	if (!function->symbol)
		function->symbol = text(die, DW_AT_MIPS_linkage_name);
	function->name = text(die, DW_AT_name);
	function->file = declaring_file(die, paths);
	if (dwarf_decl_line(die, &line) == 0 && line > 0)
		function->line = (uint32_t)line;
}
