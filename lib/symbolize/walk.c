/* SPDX-License-Identifier: MIT */
#include "symbolize/walk.h"

#include <dwarf.h>
#include <stddef.h>

enum { DEPTH_MAX = 1000 }; /* of nested entries; compilers do not get near it */

struct walk {
	walk_visit *visit;
	void *context;
	const unsigned char *end;
	int depth;
};

/* Type units of DWARF 4 are in a section of their own, which dwarf_next_unit() does not look at. */
static bool is_in_debug_info(Dwarf_Die *die)
{
	Dwarf_Half version;
	uint8_t type;

	return dwarf_cu_info(die->cu, &version, &type, NULL, NULL, NULL, NULL, NULL) == 0 &&
	       (version >= 5 || type != DW_UT_type);
}

/* Where the entries of the unit end, in terms of their addresses in memory; NULL if unknown. */
static const unsigned char *end_of_unit(Dwarf_Die *die)
{
	Dwarf_Off offset = dwarf_dieoffset(die), start = offset - dwarf_cuoffset(die), next;
	size_t header_size;

	if (!is_in_debug_info(die) ||
	    dwarf_next_unit(dwarf_cu_getdwarf(die->cu), start, &next, &header_size, NULL, NULL,
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
		uint32_t number = walk->visit(walk->context, &die, outer);
		const unsigned char *end =
			number == WALK_PAST ? NULL : walk_children(walk, &die, number);

		if (end && end + 1 < walk->end && !*end) {
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

void walk_unit(Dwarf_Die *unit, uint32_t outermost, walk_visit *visit, void *context)
{
	struct walk walk = { .visit = visit, .context = context, .end = end_of_unit(unit) };

	walk_children(&walk, unit, outermost);
}
