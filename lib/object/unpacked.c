/* SPDX-License-Identifier: MIT */
#include "object/unpacked.h"

#include <gelf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "object/decompress.h"
#include "object/elf_section.h"

enum { ALIGNMENT = 64 };

#define LARGE_PAGE (UINT64_C(2) << 20)
#define SIZE_LIMIT (UINT64_C(1) << 40)

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static bool is_packed(Elf_Scn *section, const GElf_Shdr *shdr, GElf_Chdr *chdr)
{
	return shdr->sh_type != SHT_NOBITS && (shdr->sh_flags & SHF_COMPRESSED) &&
	       gelf_getchdr(section, chdr);
}

/* Of all that is unpacked; 0: there is nothing to do, or it cannot be. */
static uint64_t unpacked_size(Elf *elf)
{
	struct elf_section section = { 0 };
	uint64_t size = 0;
	GElf_Chdr chdr;

	while (elf_section_next(elf, &section)) {
		if (!is_packed(section.scn, &section.shdr, &chdr))
			continue;
		if (chdr.ch_size > SIZE_LIMIT || size > SIZE_LIMIT)
			return 0;
		size += round_up(chdr.ch_size, ALIGNMENT);
	}
	return size;
}

/* The file, and behind it room that nothing is in yet; both begin where a large page could. */
static bool map(struct unpacked *unpacked, int fd, uint64_t file_size, uint64_t room)
{
	uint64_t start = round_up(file_size, LARGE_PAGE);
	size_t size = start + round_up(room, LARGE_PAGE);
	void *mapping = mmap(NULL, size + LARGE_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mapping == MAP_FAILED)
		return false;
	unpacked->mapping = mapping;
	unpacked->mapping_size = size + LARGE_PAGE;
	unpacked->image = (uint8_t *)round_up((uintptr_t)mapping, LARGE_PAGE);
	unpacked->image_size = start + room;
	madvise(unpacked->image + start, size - start, MADV_HUGEPAGE);
	return mmap(unpacked->image, file_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
		    0) != MAP_FAILED;
}

/* Into the image at *next, and the header so that it says what is there. */
static bool unpack(struct unpacked *unpacked, Elf *elf, Elf_Scn *section, GElf_Shdr *shdr,
		   const GElf_Chdr *chdr, uint64_t *next)
{
	const Elf_Data *data = elf_rawdata(section, NULL);
	size_t header = gelf_fsize(elf, ELF_T_CHDR, 1, EV_CURRENT);

	if (!data || data->d_size < header || chdr->ch_size > unpacked->image_size - *next)
		return false;
	struct packed packed = { (const char *)data->d_buf + header, data->d_size - header };
	if (!decompress(chdr->ch_type, &packed, unpacked->image + *next, chdr->ch_size))
		return false;
	shdr->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	shdr->sh_offset = *next;
	shdr->sh_size = chdr->ch_size;
	shdr->sh_addralign = chdr->ch_addralign;
	*next += round_up(chdr->ch_size, ALIGNMENT);
	return true;
}

/* The headers of the image become those of elf, but for what is unpacked. */
static bool fill(struct unpacked *unpacked, Elf *elf, uint64_t next)
{
	Elf *image = elf_memory((char *)unpacked->image, unpacked->image_size);
	Elf_Scn *section = NULL;
	GElf_Shdr shdr;
	GElf_Chdr chdr;
	bool done = true;

	while (done && (section = elf_nextscn(elf, section))) {
		Elf_Scn *copy = elf_getscn(image, elf_ndxscn(section));

		done = gelf_getshdr(section, &shdr) &&
		       (!is_packed(section, &shdr, &chdr) ||
			unpack(unpacked, elf, section, &shdr, &chdr, &next)) &&
		       gelf_update_shdr(copy, &shdr);
	}
	elf_end(image);
	return done;
}

bool unpacked_open(struct unpacked *unpacked, int fd, Elf *elf)
{
	uint64_t room = unpacked_size(elf);
	struct stat st;

	if (!room || fstat(fd, &st) < 0 || !map(unpacked, fd, (uint64_t)st.st_size, room) ||
	    !fill(unpacked, elf, round_up((uint64_t)st.st_size, LARGE_PAGE))) {
		unpacked_close(unpacked);
		return false;
	}
	unpacked->unpacked_bytes = room;
	unpacked->elf = elf_memory((char *)unpacked->image, unpacked->image_size);
	return unpacked->elf != NULL;
}

void unpacked_close(struct unpacked *unpacked)
{
	elf_end(unpacked->elf);
	if (unpacked->mapping)
		munmap(unpacked->mapping, unpacked->mapping_size);
	*unpacked = (struct unpacked){ 0 };
}
