/* SPDX-License-Identifier: MIT */
/*
 * unit - the functions, inlined calls and lines of one compilation unit.
 *
 *	unit_read(&unit, &text);		// once; visits every entry of the unit
 *	for (scope = unit_find(&unit, address); scope; scope = unit_outer(&unit, scope))
 *		use(scope);			// innermost first, up to the real function
 *	unit_line(&unit, address, &file, &line);
 *	unit_release(&unit);
 */
#ifndef SYMBOLIZE_UNIT_H
#define SYMBOLIZE_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "object/elf_file.h"
#include "symbolize/segments.h"

/* A function with code of its own, or a call that was replaced by the function's code. */
struct scope {
	Dwarf_Die die;
	uint32_t outer; /* the scope it is in, or SEGMENT_NONE */
	bool inlined;
	uint32_t call_file, call_line; /* where it was called, if it is inlined */
};

struct unit {
	Dwarf_Die die;	/* has ranges and lines */
	Dwarf_Die body; /* has functions: the same, or that of the .dwo file */
	const struct elf_file *text;
	bool has_ranges; /* it states the ranges of its code itself */
	bool read;
	bool thorough; /* with what is below entries that should have no functions in them */
	const char *directory; /* that names of files are relative to, or NULL */
	VEC(struct scope) scopes;
	struct segments segments;
	struct map instances; /* what functions with code of their own are instances of -> scope */
	bool instances_noted;
	Dwarf_Lines *lines;
	size_t nr_lines;
	bool lines_unreadable;
	Dwarf_Files *files;
	size_t nr_files;
};

/*
 * Code is only believed to be where the file has code: functions that the linker threw away still
 * have entries, at addresses near 0.
 */
void unit_read(struct unit *unit, const struct elf_file *text);
/*
 * Looks for functions where no compiler known here puts them: in a class, in what has no code.
 * False if that was done before.  All scopes are others afterwards.
 */
bool unit_read_thoroughly(struct unit *unit);
void unit_release(struct unit *unit);

const struct scope *unit_find(const struct unit *unit, uint64_t address);
const struct scope *unit_outer(const struct unit *unit, const struct scope *scope);

/* A function with code of its own that is an instance of what origin describes, or NULL. */
const struct scope *unit_instance(struct unit *unit, Dwarf_Die *origin);

/* The line of the instruction at the address; false if the unit has none for it. */
bool unit_line(const struct unit *unit, uint64_t address, const char **file, uint32_t *line);
/* The name of a file by its number in this unit, or NULL. */
const char *unit_file(const struct unit *unit, uint32_t number);

bool text_holds(const struct elf_file *text, uint64_t address);

#endif
