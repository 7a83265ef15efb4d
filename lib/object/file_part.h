/* SPDX-License-Identifier: MIT */
/*
 * file_part - the bytes of a part of a file, read as they are needed.
 *
 *	struct file_part part;
 *
 *	if (file_part_open(&part, fd, &elf_part, &err) < 0)
 *		return err.code;
 *	file_part_need(&part, offset, size);	// bytes[offset] to bytes[offset + size - 1] are there
 *	file_part_close(&part);
 *
 * Bytes that were not asked for, or that cannot be read, are 0; those that were read are ours and
 * stay, whatever becomes of the file.  What is not needed takes address space only.
 */
#ifndef OBJECT_FILE_PART_H
#define OBJECT_FILE_PART_H

#include <stddef.h>
#include <stdint.h>

#include "object/elf_file.h"

struct file_part {
	uint8_t *bytes;
	size_t size;
	size_t nr_read; /* bytes in memory */
	int fd;		/* the caller's */
	uint64_t offset;
	uint64_t *is_read; /* a bit for each piece */
};

/* A zeroed one is empty.  fd has to stay open. */
int file_part_open(struct file_part *part, int fd, const struct elf_part *of, struct error *err);
void file_part_close(struct file_part *part);

/* What lies outside the part is left out. */
void file_part_need(struct file_part *part, uint64_t offset, uint64_t size);

#endif
