/* SPDX-License-Identifier: MIT */
/*
 * unpacked - an ELF file of which the compressed sections have been unpacked.
 *
 *	struct unpacked unpacked = { 0 };
 *
 *	if (unpacked_open(&unpacked, fd, elf))
 *		dwarf = dwarf_begin_elf(unpacked.elf, DWARF_C_READ, NULL);
 *	...
 *	dwarf_end(dwarf);
 *	unpacked_close(&unpacked);
 *
 * libelf can unpack sections, too.  This takes a third of the time, mostly for want of page faults:
 * the file is mapped once more with room behind it, in large pages, where its sections are unpacked
 * to; and it knows zstd where libelf (before 0.189) does not.  elf has no descriptor, so libdw does
 * not know the folder that the file is in.
 */
#ifndef OBJECT_UNPACKED_H
#define OBJECT_UNPACKED_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpacked {
	void *mapping;
	uint8_t *image;
	size_t mapping_size, image_size, unpacked_bytes;
	Elf *elf;
};

/*
 * elf is of the file at fd; both stay the caller's.  What elf has as SHT_NOBITS is left out.  False
 * if nothing is compressed, or not all of it can be unpacked.
 */
bool unpacked_open(struct unpacked *unpacked, int fd, Elf *elf);
void unpacked_close(struct unpacked *unpacked);

#endif
