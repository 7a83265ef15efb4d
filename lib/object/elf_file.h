/* SPDX-License-Identifier: MIT */
/*
 * elf_file - what the recorder needs to know of an ELF file: where its parts are and who it is.
 *
 *	struct elf_file elf = { 0 };
 *
 *	if (elf_file_read(&elf, fd, &err) < 0)
 *		return err.code;
 *	bias = start - elf_file_address(&elf, pgoff);	// of a mapping of this file
 *	elf_file_release(&elf);
 *
 * Read once, copied, and independent of the file from then on: a program may truncate or rewrite
 * its files while we look, which must not end in a SIGBUS.  Nothing in the file is trusted.
 */
#ifndef OBJECT_ELF_FILE_H
#define OBJECT_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Part of the file that is loaded (PT_LOAD), or a section. */
struct elf_part {
	uint64_t address;      /* virtual, as in the file */
	uint64_t offset, size; /* in the file */
	bool executable;
};

struct elf_file {
	uint16_t machine;
	bool is_64;
	bool has_interpreter; /* PT_INTERP; a static executable has none */
	char *build_id;	      /* lower-case hex, or NULL */
	struct elf_part *loads;
	size_t nr_loads;
	struct elf_part eh_frame_hdr; /* size 0: not there */
	struct elf_part eh_frame;
};

/* Reads the ELF file open at fd, which stays the caller's.  ERR_FORMAT if it is not one. */
int elf_file_read(struct elf_file *file, int fd, struct error *err);
void elf_file_release(struct elf_file *file);

/*
 * The virtual address of the byte at file offset pgoff where that is mapped executable.  Offset
 * and address differ by another amount in each segment.  False if no segment holds it.
 */
bool elf_file_address(const struct elf_file *file, uint64_t pgoff, uint64_t *address);

/* The segment's part from address on, to its end in the file; size 0 if none holds it. */
struct elf_part elf_file_rest(const struct elf_file *file, uint64_t address);

/* Whether the part lies within the file and is of a credible size, so that its claims of memory may
 * be paid for. */
int elf_file_has(int fd, const struct elf_part *part, struct error *err);
int elf_file_read_part(int fd, uint8_t *bytes, const struct elf_part *part, struct error *err);
/* A copy of the part's bytes, for free(); NULL and a message if they cannot all be read. */
uint8_t *elf_file_copy(int fd, const struct elf_part *part, struct error *err);

#endif
