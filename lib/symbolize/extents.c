/* SPDX-License-Identifier: MIT */
#include "symbolize/extents.h"

#include <stdlib.h>

static uint8_t *read_block(struct unwind_block *block, int fd, const struct elf_part *part)
{
	uint8_t *bytes = part->size ? elf_file_copy(fd, part, NULL) : NULL;

	if (bytes)
		*block = (struct unwind_block){ bytes, part->size, part->address };
	return bytes;
}

void extents_read(struct extents *extents, int fd, const struct elf_file *file)
{
	extents->file = file;
	extents->hdr = read_block(&extents->image.hdr, fd, &file->eh_frame_hdr);
	extents->frame = read_block(&extents->image.frame, fd, &file->eh_frame);
}

/* The part of the extent that is in the same segment as the address. */
static struct extent clip(const struct elf_file *file, uint64_t address, struct extent extent)
{
	for (size_t i = 0; file && i < file->nr_loads; i++) {
		const struct elf_part *load = &file->loads[i];

		if (address < load->address || address - load->address >= load->size)
			continue;
		if (extent.start < load->address)
			extent.start = load->address;
		if (extent.end > load->address + load->size)
			extent.end = load->address + load->size;
		return extent;
	}
	return (struct extent){ 0, 0 };
}

bool extents_find(const struct extents *extents, uint64_t address, struct extent *extent)
{
	struct unwind_row row = { .start = 0, .end = UINT64_MAX };

	if (extents->frame && unwind_cfi_function(&extents->image, address, &row)) {
		*extent = (struct extent){ row.start, row.end };
		return true;
	}
	if (extents->frame)
		unwind_cfi_find(&extents->image, address, &row);
	*extent = clip(extents->file, address, (struct extent){ row.start, row.end });
	return false;
}

void extents_release(struct extents *extents)
{
	free(extents->hdr);
	free(extents->frame);
	*extents = (struct extents){ 0 };
}
