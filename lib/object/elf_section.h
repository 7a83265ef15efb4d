/* SPDX-License-Identifier: MIT */
/*
 * elf_section - the sections of an ELF file that have a name and contents, in their order.
 *
 *	struct elf_section section = { 0 };
 *
 *	while (elf_section_next(elf, &section))
 *		use(section.name, &section.shdr, elf_rawdata(section.scn, NULL));
 *
 *	if (elf_section_find(elf, ".symtab", &section))
 *		use(&section);
 *
 * SHT_NOBITS sections have none here: .bss, and all that was moved to a file of its own.
 */
#ifndef OBJECT_ELF_SECTION_H
#define OBJECT_ELF_SECTION_H

#include <gelf.h>
#include <stdbool.h>

struct elf_section {
	Elf_Scn *scn;
	GElf_Shdr shdr;
	const char *name; /* the file's */
};

/* The first one if section is zeroed.  False: there are no more. */
bool elf_section_next(Elf *elf, struct elf_section *section);

/* The first one of that name; elf may be NULL. */
bool elf_section_find(Elf *elf, const char *name, struct elf_section *section);

#endif
