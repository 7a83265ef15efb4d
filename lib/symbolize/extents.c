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
	extents->hdr = read_block(&extents->image.hdr, fd, &file->eh_frame_hdr);
	extents->frame = read_block(&extents->image.frame, fd, &file->eh_frame);
}

bool extents_find(const struct extents *extents, uint64_t address, struct extent *extent)
{
	struct unwind_row row;

	if (!extents->frame || !unwind_cfi_function(&extents->image, address, &row))
		return false;
	*extent = (struct extent){ row.start, row.end };
	return true;
}

void extents_release(struct extents *extents)
{
	free(extents->hdr);
	free(extents->frame);
	*extents = (struct extents){ 0 };
}
