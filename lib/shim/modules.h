/* SPDX-License-Identifier: MIT */
/*
 * modules - which ELF image an address is in, with its CFI and its id for the recorder.
 *
 *	const struct module *m = modules_find(&modules, pc);
 *	if (m)
 *		unwind_cfi_find(&m->image, pc, &row);
 *
 * An image is entered into the shared table when its first address turns up, in the middle of an
 * allocation: so nothing here locks, allocates or asks ld.so for more than _dl_find_object(), which
 * was made for this, and without that the kernel (self_maps.h).  (dl_iterate_phdr() in malloc is
 * the classic deadlock.)
 *
 * After modules_changed() (a dlclose) each image is looked at again before it is believed.  If
 * there is another one in its place, the trie forgets what it knows, since addresses in its nodes
 * mean something else now.  Whoever keeps things per address compares `generation`.
 */
#ifndef SHIM_MODULES_H
#define SHIM_MODULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/trie.h"
#include "shim/wire.h"
#include "unwind/cache.h"
#include "unwind/cfi.h"

#define MODULE_TEXT_BYTES 128

struct module {
	uintptr_t start;
	_Atomic uintptr_t end; /* 0: not ready, or no more */
	_Atomic uint32_t checked;
	uint32_t id;
	struct unwind_image image;

	/* What the recorder was told, for the child of a fork to tell again: path and build id. */
	uintptr_t bias;
	uint32_t path_bytes, build_id_bytes;
	char text[MODULE_TEXT_BYTES];
	bool is_kept; /* there was room for all of it */
};

#define MODULES_CACHE_BITS 14
#define MODULES_CACHE_FIRST_BITS 7

struct modules {
	struct wire_segment *segment; /* with modules and text behind it */
	struct trie *trie;
	_Atomic uint32_t generation;
	_Atomic uint32_t known;		    /* 1 more than the largest id in module[] */
	struct module module[WIRE_MODULES]; /* by id; 0 is none */
	/* Of all threads.  The more rows were added, the more of it is in use. */
	_Atomic uint32_t rows;
	struct unwind_cache_entry cache[1 << MODULES_CACHE_BITS];
};

void modules_init(struct modules *modules, struct wire_segment *segment, struct trie *trie);

/* In the child of a fork, which has a segment of its own: what was known goes on being so. */
void modules_inherit(struct modules *modules, struct wire_segment *segment);

/*
 * The row of pc, by its image's CFI; kind NONE without.  Rows are remembered for all threads, by
 * generation: those of unloaded code are not found any more.
 */
void modules_row(struct modules *modules, uintptr_t pc, struct unwind_row *row);

/* NULL: in no image, or in one too many. */
const struct module *modules_find(struct modules *modules, uintptr_t pc);

/* The 8 bytes of code at pc; 0 if that is in no image. */
uint64_t modules_code(struct modules *modules, uintptr_t pc);

static inline void modules_changed(struct modules *modules)
{
	atomic_fetch_add(&modules->generation, 1);
}

#endif
