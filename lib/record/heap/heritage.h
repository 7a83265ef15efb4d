/* SPDX-License-Identifier: MIT */
/*
 * heritage - the blocks that a forked process has from its parent.
 *
 *	heritage = heritage_new(&parent->blocks, parent->bytes, parent->heritage);	// then
 *	...
 *	if (heritage_take(heritage, address, &block))	// the child frees it
 *		heritage_lose(heritage, block.size);
 *	heritage_free(heritage);
 *
 * The parent's own blocks, and what is left of its own heritage.  Tables are shared until somebody
 * changes them, so that a child that soon executes something else costs nothing.
 */
#ifndef RECORD_HEAP_HERITAGE_H
#define RECORD_HEAP_HERITAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/heap/blocks.h"

struct heritage;

/* bytes: in blocks.  parents: its own heritage, or NULL. */
struct heritage *heritage_new(struct blocks *blocks, uint64_t bytes, struct heritage *parents);
void heritage_free(struct heritage *heritage);

/* In the blocks that are left. */
uint64_t heritage_bytes(const struct heritage *heritage);
/* What one that was taken counted. */
void heritage_lose(struct heritage *heritage, uint64_t bytes);

/* Copies the block at address out and removes it; false: there is none. */
bool heritage_take(struct heritage *heritage, uint64_t address, struct block *block);

#endif
