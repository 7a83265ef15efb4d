/* SPDX-License-Identifier: MIT */
#include "record/stacks/debug_frame.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "base/alloc.h"

enum {
	SIZE_MAX_BYTES = 256 * 1024 * 1024,
	LENGTH_BYTES = 4,
	ID_BYTES = 4,
};

static const uint32_t id_of_cie = 0xffffffff, length_is_64 = 0xffffffff;

/* An id of 0 is a CIE's in .eh_frame; others are the distance back to the CIE. */
static uint32_t converted(uint32_t id, size_t at)
{
	return id == id_of_cie ? 0 : (uint32_t)at - id;
}

size_t debug_frame_convert(uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (size - at >= LENGTH_BYTES + ID_BYTES) {
		uint32_t length, id;

		memcpy(&length, bytes + at, sizeof(length));
		memcpy(&id, bytes + at + LENGTH_BYTES, sizeof(id));
		if (length == length_is_64 || length < ID_BYTES ||
		    length > size - at - LENGTH_BYTES)
			break;
		id = converted(id, at + LENGTH_BYTES);
		memcpy(bytes + at + LENGTH_BYTES, &id, sizeof(id));
		at += LENGTH_BYTES + length;
	}
	return at;
}

static Elf_Scn *find_section(Elf *elf, GElf_Shdr *shdr)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, shdr))
			continue;
		name = elf_strptr(elf, names, shdr->sh_name);
		if (name && !strcmp(name, ".debug_frame") && shdr->sh_type != SHT_NOBITS)
			return section;
	}
	return NULL;
}

/* Inflating what a file says may take all memory: its size is looked at before. */
static Elf_Data *section_data(Elf_Scn *section, const GElf_Shdr *shdr)
{
	GElf_Chdr chdr;

	if (shdr->sh_flags & SHF_COMPRESSED &&
	    (!gelf_getchdr(section, &chdr) || chdr.ch_size > SIZE_MAX_BYTES ||
	     elf_compress(section, 0, 0) < 0))
		return NULL;
	return elf_getdata(section, NULL);
}

size_t debug_frame_read(uint8_t **bytes, int fd)
{
	Elf *elf;
	Elf_Scn *section;
	GElf_Shdr shdr;
	Elf_Data *data = NULL;
	size_t size = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	*bytes = NULL;
	section = find_section(elf, &shdr);
	if (section)
		data = section_data(section, &shdr);
	if (data && data->d_buf && data->d_size <= SIZE_MAX_BYTES) {
		*bytes = xmalloc(data->d_size);
		memcpy(*bytes, data->d_buf, data->d_size);
		size = debug_frame_convert(*bytes, data->d_size);
	}
	elf_end(elf);
	return size;
}
