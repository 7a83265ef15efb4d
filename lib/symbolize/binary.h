/* SPDX-License-Identifier: MIT */
/*
 * binary - an ELF file together with its debug information, wherever that is.
 *
 *	struct binary binary = { 0 };
 *
 *	if (binary_open(&binary, fd, &where, &err) == 0)
 *		use(binary.elf, binary.dwarf);	// dwarf is NULL if there is none
 *	binary_close(&binary);
 *
 * The debug information is in the file itself, or in a separate one (object/debuginfo.h), and
 * parts of it may be in a third that dwz made; all of them are opened here.
 */
#ifndef SYMBOLIZE_BINARY_H
#define SYMBOLIZE_BINARY_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>

#include "base/error.h"
#include "object/debuginfo.h"
#include "object/elf_file.h"
#include "object/unpacked.h"

struct binary_where {
	const char *path;     /* of the file, or NULL */
	const char *root;     /* that its program ran in, or NULL */
	const char *build_id; /* that it must have, or NULL */
	const char *const *debug_directories;
	struct debuginfod *servers; /* to fetch debug files from; NULL: none */
	const char *no_dwarf;	    /* not NULL: why it is not to be read */
};

struct binary {
	int fd;
	struct elf_file file;
	Elf *elf;
	struct debuginfo separate; /* fd is -1 if there is none */
	Elf *separate_elf;
	struct debuginfo shared;
	Elf *shared_elf;
	struct unpacked unpacked, shared_unpacked; /* where dwarf is read from, if compressed */
	Dwarf *dwarf, *shared_dwarf;
	const char *fetch_reason; /* why the debug file was not fetched, if that was tried */
	char *reason; /* what is wrong with the debug information; NULL: nothing, or there is none
		       */
};

/* fd stays the caller's, and must stay open. */
int binary_open(struct binary *binary, int fd, const struct binary_where *where, struct error *err);
void binary_close(struct binary *binary);

/* The file has a section of that name with contents. */
bool binary_has_section(Elf *elf, const char *name);

#endif
