/* SPDX-License-Identifier: MIT */
#include "symbolize/units.h"

#include <dwarf.h>
#include <stdlib.h>

static bool add_ranges(struct units *units, struct unit *unit, uint32_t value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	bool any = false;

	while ((offset = dwarf_ranges(&unit->die, offset, &base, &start, &end)) > 0) {
		any = true;
		if (text_holds(units->text, start))
			segments_add(&units->segments, start, end, value);
	}
	return any;
}

static void add_unit(struct units *units, Dwarf_Die *die, const Dwarf_Die *split)
{
	struct unit *unit = vec_add(&units->at);

	unit->die = *die;
	unit->body = split->addr ? *split : *die;
}

/*
 * Where several files have the same inline function or template, the linker keeps the code of the
 * first, but lets the others' entries refer to it, too: so the first unit has to win, and is added
 * last.
 */
static void add_all_ranges(struct units *units)
{
	for (size_t i = units->at.nr; i-- > 0;) {
		struct unit *unit = &units->at.at[i];

		unit->has_ranges = add_ranges(units, unit, (uint32_t)i);
		if (!unit->has_ranges && dwarf_hasattr(&unit->die, DW_AT_stmt_list))
			vec_push(&units->without_ranges, (uint32_t)i);
	}
}

static bool has_code(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

void units_open(struct units *units, Dwarf *dwarf, const struct elf_file *text,
		struct budget *budget)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	units->dwarf = dwarf;
	units->text = text;
	units->budget = budget;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		if (!has_code(&die))
			continue;
		add_unit(units, &die, &split);
		units->nr_split_missing += type == DW_UT_skeleton && !split.addr;
	}
	add_all_ranges(units);
	segments_build(&units->segments);
}

static struct unit *read_once(struct units *units, uint32_t i)
{
	struct unit *unit = &units->at.at[i];

	if (!unit->read && !budget_is_spent(units->budget)) {
		unit_read(unit, units->text);
		units->nr_read++;
		units->nr_without_lines += unit->lines_unreadable;
	}
	return unit;
}

/* --- units that state no ranges ------------------------------------------------------------- */

struct claim {
	uint64_t start, end;
	uint32_t unit;
};

struct claims {
	VEC(struct claim) at;
};

static int last_unit_first(const void *left, const void *right)
{
	const struct claim *a = left, *b = right;

	return a->unit > b->unit ? -1 : a->unit < b->unit;
}

static int by_offset(const void *left, const void *right)
{
	const Dwarf_Off *offset = left;
	Dwarf_Die die = ((const struct unit *)right)->die;
	Dwarf_Off other = dwarf_dieoffset(&die);

	return *offset < other ? -1 : *offset > other;
}

static void add_claim(struct units *units, Dwarf_Arange *arange, struct claims *claims)
{
	Dwarf_Addr start;
	Dwarf_Word size;
	Dwarf_Off offset;

	if (dwarf_getarangeinfo(arange, &start, &size, &offset) != 0 ||
	    !text_holds(units->text, start))
		return;
	const struct unit *unit =
		bsearch(&offset, units->at.at, units->at.nr, sizeof(units->at.at[0]), by_offset);
	if (unit && !unit->has_ranges)
		vec_push(&claims->at,
			 (struct claim){ start, start + size, (uint32_t)(unit - units->at.at) });
}

static void read_claims(struct units *units)
{
	struct claims claims = { 0 };
	Dwarf_Aranges *aranges;
	size_t nr = 0;

	units->claims_read = true;
	if (dwarf_getaranges(units->dwarf, &aranges, &nr) != 0)
		return;
	for (size_t i = 0; i < nr; i++)
		add_claim(units, dwarf_onearange(aranges, i), &claims);
	if (claims.at.nr)
		qsort(claims.at.at, claims.at.nr, sizeof(claims.at.at[0]), last_unit_first);
	vec_each(&claims.at, claim)
		segments_add(&units->claimed, claim->start, claim->end, claim->unit);
	segments_build(&units->claimed);
	vec_free(&claims.at);
}

static void copy_ranges(struct segments *to, const struct segments *from, uint32_t value)
{
	for (size_t i = 0; i + 1 < from->at.nr; i++)
		if (from->at.at[i].value != SEGMENT_NONE)
			segments_add(to, from->at.at[i].start, from->at.at[i + 1].start, value);
}

static void read_without_ranges(struct units *units)
{
	vec_each(&units->without_ranges, i)
		copy_ranges(&units->found, &read_once(units, *i)->segments, *i);
	segments_build(&units->found);
	units->without_ranges_read = true;
}

static bool has_address(const struct unit *unit, uint64_t address)
{
	return segments_find(&unit->segments, address) != SEGMENT_NONE;
}

/* The one that .debug_aranges says, if that is true. */
static uint32_t find_claimed(struct units *units, uint64_t address)
{
	if (!units->claims_read)
		read_claims(units);

	uint32_t i = segments_find(&units->claimed, address);
	bool has = i != SEGMENT_NONE &&
		   (!read_once(units, i)->read || has_address(&units->at.at[i], address));
	return has ? i : SEGMENT_NONE;
}

static uint32_t find_without_ranges(struct units *units, uint64_t address)
{
	uint32_t i = find_claimed(units, address);

	if (i != SEGMENT_NONE)
		return i;
	if (!units->without_ranges_read)
		read_without_ranges(units);
	return segments_find(&units->found, address);
}

struct unit *units_find(struct units *units, uint64_t address)
{
	uint32_t i = segments_find(&units->segments, address);

	if (i == SEGMENT_NONE && units->without_ranges.nr)
		i = find_without_ranges(units, address);
	return i == SEGMENT_NONE ? NULL : read_once(units, i);
}

void units_close(struct units *units)
{
	vec_each(&units->at, unit) unit_release(unit);
	vec_free(&units->at);
	vec_free(&units->without_ranges);
	segments_release(&units->segments);
	segments_release(&units->claimed);
	segments_release(&units->found);
	*units = (struct units){ 0 };
}
