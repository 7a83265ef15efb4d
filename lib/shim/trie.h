/* SPDX-License-Identifier: MIT */
/*
 * trie - call stacks as ids, in the memory shared with the recorder.
 *
 *	id = trie_find(&trie, parent, address);
 *	if (!id)
 *		id = trie_add(&trie, parent, address, module);
 *
 * A node is a frame under the node of its caller; 0 is the empty stack.  Nodes are appended to a
 * dense array that the recorder reads by id; what finds them, a hash index, is private and grows.
 *
 * Threads and signal handlers may all call this at any time: nothing blocks, nothing is freed.  Two
 * that add the same node at once may rarely get two ids for it, never a wrong one.
 */
#ifndef SHIM_TRIE_H
#define SHIM_TRIE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/area.h"
#include "shim/wire.h"

#define TRIE_BLOCK_LOG2 16 /* nodes mapped at a time */

struct trie_index;

struct trie {
	struct area nodes;
	_Atomic uint32_t *used; /* nodes_used of the segment */
	_Atomic(struct trie_index *) index;
};

/* fd: the shared file; at: where the nodes are in it. */
bool trie_init(struct trie *trie, int fd, uint64_t at, _Atomic uint32_t *used);

/* 0 if there is no such node. */
uint32_t trie_find(struct trie *trie, uint32_t parent, uint64_t address);

/* Returns the new node, or one that somebody else just made; 0 if there is no room. */
uint32_t trie_add(struct trie *trie, uint32_t parent, uint64_t address, uint32_t module);

/* From here on no node so far is found again: addresses mean something else now. */
bool trie_forget(struct trie *trie);

#endif
