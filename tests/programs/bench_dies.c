// SPDX-License-Identifier: MIT
// PFLAGS: -ldw -lelf
// bench_dies FILE <ADDRESSES: what reading the debug information of these addresses costs at least,
// with libdw: the lines of each compilation unit that has one of them, and a visit to each of its
// entries.
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t nr_units, nr_entries, nr_lines;

static void visit(Dwarf_Die *die)
{
	Dwarf_Die child;

	do {
		nr_entries += dwarf_tag(die) != 0;
		if (dwarf_child(die, &child) == 0)
			visit(&child);
	} while (dwarf_siblingof(die, die) == 0);
}

static void read_unit(Dwarf_Die *unit)
{
	Dwarf_Die die = *unit;
	Dwarf_Lines *lines;
	size_t nr;

	nr_units++;
	if (dwarf_getsrclines(unit, &lines, &nr) == 0)
		nr_lines += nr;
	visit(&die);
}

static int by_value(const void *left, const void *right)
{
	Dwarf_Off a = *(const Dwarf_Off *)left, b = *(const Dwarf_Off *)right;

	return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
	Dwarf *dwarf = argc > 1 ? dwarf_begin(open(argv[1], O_RDONLY), DWARF_C_READ) : NULL;
	Dwarf_Off *units = NULL;
	size_t nr = 0, room = 0;
	char line[64];
	Dwarf_Die die;

	if (!dwarf) {
		fprintf(stderr, "usage: bench_dies FILE <ADDRESSES: %s\n", dwarf_errmsg(-1));
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (!dwarf_addrdie(dwarf, strtoull(line, NULL, 16), &die))
			continue;
		if (nr == room)
			units = realloc(units, (room = room ? 2 * room : 1024) * sizeof(*units));
		units[nr++] = dwarf_dieoffset(&die);
	}
	qsort(units, nr, sizeof(*units), by_value);
	for (size_t i = 0; i < nr; i++)
		if ((i == 0 || units[i] != units[i - 1]) && dwarf_offdie(dwarf, units[i], &die))
			read_unit(&die);
	printf("%zu units, %zu entries, %zu lines\n", nr_units, nr_entries, nr_lines);
	free(units);
	dwarf_end(dwarf);
	return 0;
}
