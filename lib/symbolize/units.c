/* SPDX-License-Identifier: MIT */
#include "symbolize/units.h"

#include <dwarf.h>

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

		if (!add_ranges(units, unit, (uint32_t)i) &&
		    dwarf_hasattr(&unit->die, DW_AT_stmt_list))
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

static void copy_ranges(struct segments *to, const struct segments *from, uint32_t value)
{
	for (size_t i = 0; i + 1 < from->at.nr; i++)
		if (from->at.at[i].value != SEGMENT_NONE)
			segments_add(to, from->at.at[i].start, from->at.at[i + 1].start, value);
}

static struct unit *read_once(struct units *units, uint32_t i)
{
	struct unit *unit = &units->at.at[i];

	if (!unit->read && !budget_is_spent(units->budget))
		unit_read(unit, units->text);
	return unit;
}

static void read_without_ranges(struct units *units)
{
	vec_each(&units->without_ranges, i)
		copy_ranges(&units->found, &read_once(units, *i)->segments, *i);
	segments_build(&units->found);
	units->without_ranges_read = true;
}

struct unit *units_find(struct units *units, uint64_t address)
{
	uint32_t i = segments_find(&units->segments, address);

	if (i == SEGMENT_NONE && !units->without_ranges_read)
		read_without_ranges(units);
	if (i == SEGMENT_NONE)
		i = segments_find(&units->found, address);
	return i == SEGMENT_NONE ? NULL : read_once(units, i);
}

void units_close(struct units *units)
{
	vec_each(&units->at, unit) unit_release(unit);
	vec_free(&units->at);
	vec_free(&units->without_ranges);
	segments_release(&units->segments);
	segments_release(&units->found);
	*units = (struct units){ 0 };
}
