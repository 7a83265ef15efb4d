/* SPDX-License-Identifier: MIT */
/*
 * space - the executable mappings of one process, as they are now.
 *
 *	struct space space = { 0 };
 *
 *	space_map(&space, start, end, pgoff, module);	// perf's MMAP2
 *	space_copy(&child_space, &space);		// FORK of a process; threads share
 *	space_clear(&space);				// exec
 *
 *	const struct mapping *mapping = space_find(&space, pc);
 *	if (mapping)
 *		address = mapping_address(mapping, pc);
 *
 * Fed in the order of time, it is right at that time.  The kernel tells of new mappings only, so
 * a new one cuts away what it covers, and unmapped ones stay until something covers them.
 */
#ifndef OBJECT_SPACE_H
#define OBJECT_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "object/module.h"

struct mapping {
	uint64_t start, end;
	uint64_t pgoff;
	uint64_t bias; /* pc - bias is the address in the module's file */
	struct module *module;
};

struct space {
	struct mapping *at; /* sorted, not overlapping */
	size_t nr, room;
};

/* Ignores what is empty or wraps around. */
void space_map(struct space *space, uint64_t start, uint64_t end, uint64_t pgoff,
	       struct module *module);
void space_copy(struct space *to, const struct space *from);
void space_clear(struct space *space);
void space_release(struct space *space);

/* NULL if nothing is mapped there.  Valid until the space changes. */
const struct mapping *space_find(const struct space *space, uint64_t pc);

/* The address in the module's ELF file; of a file that is no ELF the offset, of JIT memory pc. */
static inline uint64_t mapping_address(const struct mapping *mapping, uint64_t pc)
{
	return pc - mapping->bias;
}

#endif
