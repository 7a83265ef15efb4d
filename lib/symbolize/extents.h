/* SPDX-License-Identifier: MIT */
/*
 * extents - where functions start and end, from .eh_frame: true of code without symbols as well.
 *
 *	struct extents extents = { 0 };
 *
 *	extents_read(&extents, fd, &elf_file);
 *	if (extents_find(&extents, address, &extent))
 *		use(extent.start, extent.end);		// of the function
 *	else
 *		use(extent.start, extent.end);		// of the stretch between two
 *	extents_release(&extents);
 */
#ifndef SYMBOLIZE_EXTENTS_H
#define SYMBOLIZE_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "object/elf_file.h"
#include "unwind/cfi.h"

struct extent {
	uint64_t start, end;
};

struct extents {
	const struct elf_file *file;
	uint8_t *hdr, *frame;
	struct unwind_image image;
};

/* file has to stay.  What cannot be read is as if it were not there. */
void extents_read(struct extents *extents, int fd, const struct elf_file *file);

/*
 * True: the extent is that of the function around the address.  False: no function is known there,
 * and it is that of the code between the ones that are, or of the whole segment; it may be empty.
 */
bool extents_find(const struct extents *extents, uint64_t address, struct extent *extent);
void extents_release(struct extents *extents);

#endif
