/* SPDX-License-Identifier: MIT */
/*
 * units - the compilation units of a file's debug information, by address.
 *
 *	struct units units = { 0 };
 *
 *	units_open(&units, dwarf, &elf_file);
 *	unit = units_find(&units, address);	// read on the first demand; NULL: no unit has it
 *	units_close(&units);
 *
 * The ranges that the units themselves state decide: reading them takes 3 % of the time that names
 * of one address in a library with 1,100 units take.  Only where a unit states none (in DWARF 2 it
 * cannot, if its code is in several sections), .debug_aranges says which one to read, and is
 * believed if that has the address; otherwise they are all read.  .debug_names leads from names to
 * entries, which nobody asks for here.
 *
 * Once the budget is spent, no further unit is read: what units_find() returns may be one that
 * has read == false, and so knows nothing.
 */
#ifndef SYMBOLIZE_UNITS_H
#define SYMBOLIZE_UNITS_H

#include <elfutils/libdw.h>

#include "base/vec.h"
#include "object/elf_file.h"
#include "symbolize/budget.h"
#include "symbolize/segments.h"
#include "symbolize/unit.h"

struct units {
	Dwarf *dwarf;
	const struct elf_file *text;
	struct budget *budget;
	VEC(struct unit) at;
	struct segments segments;
	VEC(uint32_t) without_ranges;
	struct segments claimed, found; /* of those: by .debug_aranges, by reading them */
	bool claims_read, without_ranges_read;
	size_t nr_read, nr_without_lines; /* of those, units whose line tables are unreadable */
	size_t nr_split_missing; /* units whose entries are in a .dwo file that is not there */
};

/* dwarf, budget, and text of the file that has the code, stay the caller's and must stay. */
void units_open(struct units *units, Dwarf *dwarf, const struct elf_file *text,
		struct budget *budget);
struct unit *units_find(struct units *units, uint64_t address);
void units_close(struct units *units);

#endif
