/* SPDX-License-Identifier: MIT */
/*
 * debuginfo - the file that holds what was stripped from an ELF file.
 *
 *	struct debuginfo found = { 0 };
 *	struct debuginfo_query query = { .elf = elf, .path = "/usr/bin/python3" };
 *
 *	if (debuginfo_find(&found, &query))
 *		dwarf = dwarf_begin(found.fd, DWARF_C_READ);
 *	else
 *		puts(found.reason);
 *	debuginfo_release(&found);
 *
 * Searched, in each debug directory (that of the file's own root comes before ours): .build-id/xx/rest.debug; then for the name in .gnu_debuglink
 * beside the file, in its .debug folder, and below each debug directory at the file's own path;
 * and, if there are servers to ask, by build id there. A file is taken only if it belongs to the
 * same build: equal build ids, or, where there is none, the checksum of .gnu_debuglink.
 */
#ifndef OBJECT_DEBUGINFO_H
#define OBJECT_DEBUGINFO_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

#include "object/debuginfod.h"

#define DEBUGINFO_DIRECTORY "/usr/lib/debug"

struct debuginfo_query {
	Elf *elf;
	const char *path; /* of that file; NULL: not known */
	const char *root; /* of the file system that it was run in; NULL: ours */
	/* Searched before DEBUGINFO_DIRECTORY; ends with NULL.  May be NULL. */
	const char *const *directories;
	struct debuginfod *servers; /* NULL: nothing is fetched */
};

struct debuginfo {
	int fd; /* -1: not found */
	char *path;
	char *reason;	    /* why not found */
	bool mismatch;	    /* there was one, but of another build */
	char *fetch_reason; /* why it was not fetched; NULL: that was not tried */
};

bool debuginfo_find(struct debuginfo *found, const struct debuginfo_query *query);

/*
 * The same for the file that dwz moved common parts of several debug files to: its name as in
 * .gnu_debugaltlink of the file at path, and the build id that it must have.
 */
bool debuginfo_find_shared(struct debuginfo *found, const struct debuginfo_query *query,
			   const char *name, const void *build_id, size_t build_id_size);

void debuginfo_release(struct debuginfo *found);

#endif
