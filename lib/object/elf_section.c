/* SPDX-License-Identifier: MIT */
#include "object/elf_section.h"

#include <stddef.h>
#include <string.h>

bool elf_section_next(Elf *elf, struct elf_section *section)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((section->scn = elf_nextscn(elf, section->scn))) {
		if (!gelf_getshdr(section->scn, &section->shdr) ||
		    section->shdr.sh_type == SHT_NOBITS)
			continue;
		section->name = elf_strptr(elf, names, section->shdr.sh_name);
		if (section->name)
			return true;
	}
	return false;
}

bool elf_section_find(Elf *elf, const char *name, struct elf_section *section)
{
	*section = (struct elf_section){ 0 };
	while (elf_section_next(elf, section))
		if (!strcmp(section->name, name))
			return true;
	return false;
}
