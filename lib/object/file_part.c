/* SPDX-License-Identifier: MIT */
#include "object/file_part.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
	PIECE_BYTES = 1 << 14, /* neighbours are needed soon */
	WORD_BITS = 64,
};

int file_part_open(struct file_part *part, int fd, const struct elf_part *of, struct error *err)
{
	int ret = elf_file_has(fd, of, err);
	void *bytes;

	*part = (struct file_part){ 0 };
	if (ret < 0 || !of->size)
		return ret;
	bytes = mmap(NULL, of->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED)
		return error_errno(err, errno, "get address space");
	*part = (struct file_part){ .bytes = bytes,
				    .size = of->size,
				    .fd = fd,
				    .offset = of->offset,
				    .is_read = xcalloc(of->size / PIECE_BYTES / WORD_BITS + 1,
						       sizeof(uint64_t)) };
	return 0;
}

void file_part_close(struct file_part *part)
{
	if (part->bytes)
		munmap(part->bytes, part->size);
	free(part->is_read);
	*part = (struct file_part){ 0 };
}

static void read_piece(struct file_part *part, size_t piece)
{
	size_t at = piece * PIECE_BYTES, left = part->size - at;
	struct elf_part bytes = { .offset = part->offset + at,
				  .size = left < PIECE_BYTES ? left : PIECE_BYTES };

	elf_file_read_part(part->fd, part->bytes + at, &bytes, NULL);
	part->is_read[piece / WORD_BITS] |= UINT64_C(1) << piece % WORD_BITS;
	part->nr_read += bytes.size;
}

static bool is_read(const struct file_part *part, size_t piece)
{
	return part->is_read[piece / WORD_BITS] >> piece % WORD_BITS & 1;
}

void file_part_need(struct file_part *part, uint64_t offset, uint64_t size)
{
	if (offset >= part->size || !size)
		return;
	if (size > part->size - offset)
		size = part->size - offset;
	for (size_t piece = offset / PIECE_BYTES; piece <= (offset + size - 1) / PIECE_BYTES;
	     piece++)
		if (!is_read(part, piece))
			read_piece(part, piece);
}
