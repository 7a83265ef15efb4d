/* SPDX-License-Identifier: MIT */
#include "symbolize/unit.h"

#include <dwarf.h>

#include "base/search.h"
#include "symbolize/die.h"
#include "symbolize/walk.h"

struct reading {
	struct unit *unit;
	uint32_t scope; /* the one being filled */
};

bool text_holds(const struct elf_file *text, uint64_t address)
{
	for (size_t i = 0; i < text->nr_loads; i++)
		if (text->loads[i].executable && address >= text->loads[i].address &&
		    address - text->loads[i].address < text->loads[i].size)
			return true;
	return false;
}

static void add_range(void *context, uint64_t start, uint64_t end)
{
	struct reading *reading = context;

	if (text_holds(reading->unit->text, start))
		segments_add(&reading->unit->segments, start, end, reading->scope);
}

static bool is_type(int tag)
{
	switch (tag) {
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
		return true;
	}
	return false;
}

/* Returns the scope that the entry's children are in. */
static uint32_t visit(void *context, Dwarf_Die *die, uint32_t outer)
{
	struct reading *reading = context;
	struct unit *unit = reading->unit;
	uint32_t without_code = unit->thorough ? outer : WALK_PAST;
	int tag = dwarf_tag(die);
	struct die_pcs pcs;

	if (is_type(tag))
		return without_code;
	if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
		return outer;
	die_read_pcs(&pcs, die);
	if (!pcs.has_code)
		return without_code;

	uint32_t scope = reading->scope = (uint32_t)unit->scopes.nr;
	vec_push(&unit->scopes, (struct scope){
					.die = *die,
					.outer = outer,
					.inlined = tag == DW_TAG_inlined_subroutine,
					.call_file = pcs.call_file,
					.call_line = pcs.call_line,
				});
	die_each_range(die, &pcs, add_range, reading);
	return scope;
}

static void read_scopes(struct unit *unit)
{
	struct reading reading = { .unit = unit };

	walk_unit(&unit->body, SEGMENT_NONE, visit, &reading);
	segments_build(&unit->segments);
}

void unit_read(struct unit *unit, const struct elf_file *text)
{
	unit->read = true;
	unit->text = text;
	unit->directory = die_directory(&unit->die);
	read_scopes(unit);
	if (dwarf_getsrclines(&unit->die, &unit->lines, &unit->nr_lines) != 0) {
		unit->nr_lines = 0;
		unit->lines_unreadable = dwarf_hasattr(&unit->die, DW_AT_stmt_list);
	}
	if (dwarf_getsrcfiles(&unit->body, &unit->files, &unit->nr_files) != 0)
		unit->nr_files = 0;
}

static void release_scopes(struct unit *unit)
{
	vec_free(&unit->scopes);
	segments_release(&unit->segments);
	map_release(&unit->instances);
	unit->instances_noted = false;
}

bool unit_read_thoroughly(struct unit *unit)
{
	if (!unit->read || unit->thorough)
		return false;
	unit->thorough = true;
	release_scopes(unit);
	read_scopes(unit);
	return true;
}

void unit_release(struct unit *unit)
{
	release_scopes(unit);
}

const struct scope *unit_find(const struct unit *unit, uint64_t address)
{
	uint32_t i = segments_find(&unit->segments, address);

	return i == SEGMENT_NONE ? NULL : &unit->scopes.at[i];
}

const struct scope *unit_outer(const struct unit *unit, const struct scope *scope)
{
	if (!scope->inlined || scope->outer == SEGMENT_NONE)
		return NULL;
	return &unit->scopes.at[scope->outer];
}

static void note_instances(struct unit *unit)
{
	unit->instances_noted = true;
	vec_each(&unit->scopes, scope) if (!scope->inlined)
		map_set(&unit->instances, (uintptr_t)die_origin(&scope->die).addr,
			(uint64_t)(scope - unit->scopes.at));
}

const struct scope *unit_instance(struct unit *unit, Dwarf_Die *origin)
{
	if (!unit->instances_noted)
		note_instances(unit);

	const uint64_t *scope = map_find(&unit->instances, (uintptr_t)origin->addr);
	return scope ? &unit->scopes.at[*scope] : NULL;
}

static uint64_t address_of(const struct unit *unit, size_t i)
{
	Dwarf_Addr address = 0;

	dwarf_lineaddr(dwarf_onesrcline(unit->lines, i), &address);
	return address;
}

/* The last row at or below the address, or NULL: libdw sorts them. */
static Dwarf_Line *find_row(const struct unit *unit, uint64_t address)
{
	size_t nr = search_count(unit->nr_lines, i, address_of(unit, i) <= address);

	return nr ? dwarf_onesrcline(unit->lines, nr - 1) : NULL;
}

bool unit_line(const struct unit *unit, uint64_t address, const char **file, uint32_t *line)
{
	Dwarf_Line *row = find_row(unit, address);
	bool ends = true;
	int number = 0;

	if (!row || dwarf_lineendsequence(row, &ends) != 0 || ends)
		return false;
	dwarf_lineno(row, &number);
	*file = dwarf_linesrc(row, NULL, NULL);
	*line = number > 0 ? (uint32_t)number : 0;
	return true;
}

const char *unit_file(const struct unit *unit, uint32_t number)
{
	return number < unit->nr_files ? dwarf_filesrc(unit->files, number, NULL, NULL) : NULL;
}
