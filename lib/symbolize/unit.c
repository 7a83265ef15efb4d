/* SPDX-License-Identifier: MIT */
#include "symbolize/unit.h"

#include <dwarf.h>

#include "symbolize/die.h"

enum { DEPTH_MAX = 1000 }; /* of nested entries; compilers do not get near it */

struct walk {
	struct unit *unit;
	const struct elf_file *text;
	uint32_t scope; /* the one being filled */
	const unsigned char *end;
	int depth;
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
	struct walk *walk = context;

	if (text_holds(walk->text, start))
		segments_add(&walk->unit->segments, start, end, walk->scope);
}

/* Returns the scope that the entry's children are in. */
static uint32_t visit(struct walk *walk, Dwarf_Die *die, uint32_t outer)
{
	int tag = dwarf_tag(die);
	struct die_pcs pcs;

	if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
		return outer;
	die_read_pcs(&pcs, die);
	if (!pcs.has_code)
		return outer;

	walk->scope = (uint32_t)walk->unit->scopes.nr;
	vec_push(&walk->unit->scopes, (struct scope){
					      .die = *die,
					      .outer = outer,
					      .inlined = tag == DW_TAG_inlined_subroutine,
					      .call_file = pcs.call_file,
					      .call_line = pcs.call_line,
				      });
	uint32_t scope = walk->scope;
	die_each_range(die, &pcs, add_range, walk);
	return scope;
}

/* Where the entries of the unit end, in terms of their addresses in memory; NULL if unknown. */
static const unsigned char *end_of_unit(Dwarf_Die *die)
{
	Dwarf_Off offset = dwarf_dieoffset(die), start = offset - dwarf_cuoffset(die), next;
	size_t header_size;

	if (dwarf_next_unit(dwarf_cu_getdwarf(die->cu), start, &next, &header_size, NULL, NULL,
			    NULL, NULL, NULL, NULL) != 0 ||
	    next < offset)
		return NULL;
	return (const unsigned char *)die->addr + (next - offset);
}

static const unsigned char *walk_children(struct walk *walk, Dwarf_Die *die, uint32_t outer);

/*
 * Visits the entry, its siblings after it, and all below them.  Returns the zero byte that ends
 * the list of siblings, or NULL if that is not known.
 *
 * libdw finds the next sibling by passing over all descendants once more, unless DW_AT_sibling
 * spares it that (gcc writes it, clang and rustc do not): quadratic in the depth.  But where there
 * is no next sibling, dwarf_siblingof() leaves the address of that zero byte, and the parent's next
 * sibling is the byte after it.  Should it not, all is found the slow way.
 */
static const unsigned char *walk_list(struct walk *walk, const Dwarf_Die *first, uint32_t outer)
{
	Dwarf_Die die = *first;

	for (;;) {
		Dwarf_Die next = { 0 };
		const unsigned char *end = walk_children(walk, &die, visit(walk, &die, outer));

		if (end && !*end && end + 1 < walk->end) {
			if (end[1] == 0)
				return end + 1;
			next = (Dwarf_Die){ .addr = (void *)(uintptr_t)(end + 1), .cu = die.cu };
		} else {
			int status = dwarf_siblingof(&die, &next);

			if (status != 0 || next.addr <= die.addr)
				return status > 0 ? next.addr : NULL;
		}
		die = next;
	}
}

static const unsigned char *walk_children(struct walk *walk, Dwarf_Die *die, uint32_t outer)
{
	const unsigned char *end = NULL;
	Dwarf_Die child;

	if (dwarf_haschildren(die) > 0 && walk->depth < DEPTH_MAX &&
	    dwarf_child(die, &child) == 0) {
		walk->depth++;
		end = walk_list(walk, &child, outer);
		walk->depth--;
	}
	return end;
}

void unit_read(struct unit *unit, const struct elf_file *text)
{
	struct walk walk = { .unit = unit, .text = text, .end = end_of_unit(&unit->body) };

	unit->read = true;
	unit->directory = die_directory(&unit->die);
	walk_children(&walk, &unit->body, SEGMENT_NONE);
	segments_build(&unit->segments);
	if (dwarf_getsrclines(&unit->die, &unit->lines, &unit->nr_lines) != 0)
		unit->nr_lines = 0;
	if (dwarf_getsrcfiles(&unit->body, &unit->files, &unit->nr_files) != 0)
		unit->nr_files = 0;
}

void unit_release(struct unit *unit)
{
	vec_free(&unit->scopes);
	segments_release(&unit->segments);
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

static uint64_t address_of(const struct unit *unit, size_t i)
{
	Dwarf_Addr address = 0;

	dwarf_lineaddr(dwarf_onesrcline(unit->lines, i), &address);
	return address;
}

/* The last row at or below the address, or NULL: libdw sorts them. */
static Dwarf_Line *find_row(const struct unit *unit, uint64_t address)
{
	size_t low = 0, high = unit->nr_lines;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address_of(unit, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? dwarf_onesrcline(unit->lines, low - 1) : NULL;
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
