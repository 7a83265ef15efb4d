/* SPDX-License-Identifier: MIT */
#include "record/stacks/debug_frame.h"

#include <string.h>

#include "base/alloc.h"
#include "object/elf_section.h"

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

/* Inflating what a file says may take all memory: its size is looked at before. */
static Elf_Data *section_data(const struct elf_section *section)
{
	GElf_Chdr chdr;

	if (section->shdr.sh_flags & SHF_COMPRESSED &&
	    (!gelf_getchdr(section->scn, &chdr) || chdr.ch_size > SIZE_MAX_BYTES ||
	     elf_compress(section->scn, 0, 0) < 0))
		return NULL;
	return elf_getdata(section->scn, NULL);
}

size_t debug_frame_read(uint8_t **bytes, int fd)
{
	Elf *elf;
	struct elf_section section;
	Elf_Data *data = NULL;
	size_t size = 0;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	*bytes = NULL;
	if (elf_section_find(elf, ".debug_frame", &section))
		data = section_data(&section);
	if (data && data->d_buf && data->d_size <= SIZE_MAX_BYTES) {
		*bytes = xmalloc(data->d_size);
		memcpy(*bytes, data->d_buf, data->d_size);
		size = debug_frame_convert(*bytes, data->d_size);
	}
	elf_end(elf);
	return size;
}
