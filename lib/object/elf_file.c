/* SPDX-License-Identifier: MIT */
#include "object/elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/elf_section.h"

enum {
	BUILD_ID_MAX = 64,   /* bytes; SHA-1 has 20 */
	NOTES_MAX = 1 << 20, /* a note segment larger than this is nonsense */
	SEGMENTS_MAX = 4096, /* so is such a number */
	PART_MAX = 1 << 28,  /* the CFI of a browser has some 20 MiB */
};

static char *hex(const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	char *text = xmalloc(2 * size + 1);

	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * size] = '\0';
	return text;
}

static void find_build_id(struct elf_file *file, Elf_Data *notes)
{
	size_t offset = 0, next, name_at, id_at;
	GElf_Nhdr note;

	while ((next = gelf_getnote(notes, offset, &note, &name_at, &id_at))) {
		const char *bytes = notes->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(bytes + name_at, "GNU", sizeof("GNU")) && note.n_descsz > 0 &&
		    note.n_descsz <= BUILD_ID_MAX) {
			file->build_id = hex((const uint8_t *)bytes + id_at, note.n_descsz);
			return;
		}
		offset = next;
	}
}

static void read_notes(struct elf_file *file, Elf *elf, const GElf_Phdr *phdr)
{
	Elf_Type type = phdr->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;

	if (file->build_id || phdr->p_filesz > NOTES_MAX || phdr->p_offset > INT64_MAX)
		return;
	Elf_Data *notes = elf_getdata_rawchunk(elf, (int64_t)phdr->p_offset, phdr->p_filesz, type);
	if (notes)
		find_build_id(file, notes);
}

static void add_load(struct elf_file *file, const GElf_Phdr *phdr)
{
	if (phdr->p_offset + phdr->p_filesz < phdr->p_offset ||
	    phdr->p_vaddr + phdr->p_filesz < phdr->p_vaddr)
		return;
	file->loads[file->nr_loads++] = (struct elf_part){
		.address = phdr->p_vaddr,
		.offset = phdr->p_offset,
		.size = phdr->p_filesz,
		.executable = phdr->p_flags & PF_X,
	};
}

static void read_segment(struct elf_file *file, Elf *elf, const GElf_Phdr *phdr)
{
	switch (phdr->p_type) {
	case PT_LOAD:
		add_load(file, phdr);
		break;
	case PT_INTERP:
		file->has_interpreter = true;
		break;
	case PT_NOTE:
		read_notes(file, elf, phdr);
		break;
	case PT_GNU_EH_FRAME:
		file->eh_frame_hdr = (struct elf_part){
			.address = phdr->p_vaddr,
			.offset = phdr->p_offset,
			.size = phdr->p_filesz,
		};
		break;
	}
}

static int read_segments(struct elf_file *file, Elf *elf, struct error *err)
{
	size_t nr;

	if (elf_getphdrnum(elf, &nr) < 0)
		return error_set(err, ERR_FORMAT, "damaged ELF file: %s", elf_errmsg(-1));
	if (nr > SEGMENTS_MAX)
		return error_set(err, ERR_FORMAT, "damaged ELF file: %zu segments", nr);

	file->loads = xcalloc(nr ? nr : 1, sizeof(file->loads[0]));
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr))
			return error_set(err, ERR_FORMAT, "damaged ELF file: %s", elf_errmsg(-1));
		read_segment(file, elf, &phdr);
	}
	return 0;
}

/* The section's exact size; without section headers it is not known. */
static void read_sections(struct elf_file *file, Elf *elf)
{
	struct elf_section section = { 0 };

	while (elf_section_next(elf, &section)) {
		const GElf_Shdr *shdr = &section.shdr;

		if ((shdr->sh_flags & SHF_ALLOC) && !strcmp(section.name, ".eh_frame"))
			file->eh_frame = (struct elf_part){ .address = shdr->sh_addr,
							    .offset = shdr->sh_offset,
							    .size = shdr->sh_size };
	}
}

static int read_header(struct elf_file *file, Elf *elf, struct error *err)
{
	GElf_Ehdr ehdr;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr))
		return error_set(err, ERR_FORMAT, "not an ELF file");
	if (ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_set(err, ERR_FORMAT, "an ELF file for big-endian CPUs");
	file->machine = ehdr.e_machine;
	file->is_64 = ehdr.e_ident[EI_CLASS] == ELFCLASS64;
	return 0;
}

int elf_file_read(struct elf_file *file, int fd, struct error *err)
{
	int ret;

	*file = (struct elf_file){ 0 };
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL); /* not _MMAP: see the header */
	if (!elf)
		return error_set(err, ERR_FORMAT, "not an ELF file: %s", elf_errmsg(-1));

	ret = read_header(file, elf, err);
	if (!ret)
		ret = read_segments(file, elf, err);
	if (!ret)
		read_sections(file, elf);
	elf_end(elf);
	if (ret)
		elf_file_release(file);
	return ret;
}

void elf_file_release(struct elf_file *file)
{
	free(file->build_id);
	free(file->loads);
	*file = (struct elf_file){ 0 };
}

/* Whether the pages that hold the segment hold the byte at offset. */
static bool holds_offset(const struct elf_part *load, uint64_t offset)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return offset >= (load->offset & ~(page - 1)) && offset < load->offset + load->size;
}

bool elf_file_address(const struct elf_file *file, uint64_t pgoff, uint64_t *address)
{
	const struct elf_part *found = NULL;

	/* Neighbours may share a page of the file: what is mapped is executable. */
	for (size_t i = 0; i < file->nr_loads; i++) {
		const struct elf_part *load = &file->loads[i];

		if (holds_offset(load, pgoff) &&
		    (!found || (load->executable && !found->executable)))
			found = load;
	}
	if (!found)
		return false;
	*address = found->address + (pgoff - found->offset);
	return true;
}

struct elf_part elf_file_rest(const struct elf_file *file, uint64_t address)
{
	for (size_t i = 0; i < file->nr_loads; i++) {
		const struct elf_part *load = &file->loads[i];
		uint64_t skip = address - load->address;

		if (skip < load->size)
			return (struct elf_part){ address, load->offset + skip, load->size - skip,
						  load->executable };
	}
	return (struct elf_part){ 0 };
}

int elf_file_read_part(int fd, uint8_t *bytes, const struct elf_part *part, struct error *err)
{
	uint64_t done = 0;

	while (done < part->size) {
		ssize_t got =
			pread(fd, bytes + done, part->size - done, (off_t)(part->offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_errno(err, errno, "read");
		if (!got)
			return error_set(err, ERR_FORMAT, "the file ends at byte %" PRIu64,
					 part->offset + done);
		done += (uint64_t)got;
	}
	return 0;
}

int elf_file_has(int fd, const struct elf_part *part, struct error *err)
{
	if (part->size > PART_MAX || part->offset > INT64_MAX - PART_MAX)
		return error_set(err, ERR_FORMAT, "a part of %" PRIu64 " bytes", part->size);

	off_t end = lseek(fd, 0, SEEK_END);
	if (end < 0 || part->offset + part->size > (uint64_t)end)
		return error_set(err, ERR_FORMAT, "a part that lies outside the file");
	return 0;
}

uint8_t *elf_file_copy(int fd, const struct elf_part *part, struct error *err)
{
	if (elf_file_has(fd, part, err) < 0)
		return NULL;

	uint8_t *bytes = xmalloc(part->size ? part->size : 1);
	if (elf_file_read_part(fd, bytes, part, err) < 0) {
		free(bytes);
		return NULL;
	}
	return bytes;
}
