/* SPDX-License-Identifier: MIT */
/*
 * trie - call stacks as ids, in the memory shared with the recorder.
 *
 *	hash = trie_hash(parent_hash, address);		// 0 is that of the empty stack
 *	id = trie_find(&trie, hash, parent, address);
 *	if (!id)
 *		id = trie_add(&trie, hash, parent, address, module);
 *
 * The hash of a stack does not depend on ids, so that no look-up waits for the one before.
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

/*
 * The index: open addressing.  Address and parent are in the entry, so that one look decides.  An
 * entry is taken by its address and valid with its value; who comes in between makes another one.
 * A full index is followed by a larger, empty one; what is looked for and only found in an older
 * one is entered into the newest.
 */
struct trie_entry {
	_Atomic uint64_t address; /* 0: free */
	_Atomic uint64_t value;	  /* parent << 32 | id; 0: not yet */
};

struct trie_index {
	struct trie_index *older;
	uint32_t log2;
	_Atomic uint32_t count;
	_Alignas(64) struct trie_entry entry[];
};

struct trie {
	struct area nodes;
	struct wire_segment *segment; /* counts nodes and bytes */
	_Atomic(struct trie_index *) index;
};

/* fd: the shared file; at: where the nodes are in it. */
bool trie_init(struct trie *trie, int fd, uint64_t at, struct wire_segment *segment);

/* Of a stack: by that of its caller's and the address of its frame.  The upper bits count. */
static inline uint64_t trie_hash(uint64_t parent_hash, uint64_t address)
{
	return (parent_hash + address) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Not in the first place where it may be. */
uint32_t trie_find_elsewhere(struct trie *trie, uint64_t hash, uint32_t parent, uint64_t address);

/* Where to look first: for as long as the process lives, but it is not always the newest. */
struct trie_view {
	struct trie_entry *entry;
	unsigned int shift;
};

static inline struct trie_view trie_view(struct trie *trie)
{
	struct trie_index *index = atomic_load_explicit(&trie->index, memory_order_acquire);

	return (struct trie_view){ index->entry, 64 - index->log2 };
}

/* 0 if there is no such node there: then it may be elsewhere. */
static inline uint32_t trie_look(struct trie_view view, uint64_t hash, uint32_t parent,
				 uint64_t address)
{
	struct trie_entry *entry = &view.entry[hash >> view.shift];
	uint64_t there = atomic_load_explicit(&entry->address, memory_order_relaxed);
	uint64_t value = atomic_load_explicit(&entry->value, memory_order_acquire);

	return there == address && value >> 32 == parent ? (uint32_t)value : 0;
}

/* 0 if there is no such node. */
static inline uint32_t trie_find(struct trie *trie, uint64_t hash, uint32_t parent,
				 uint64_t address)
{
	uint32_t id = trie_look(trie_view(trie), hash, parent, address);

	return __builtin_expect(id != 0, 1) ? id : trie_find_elsewhere(trie, hash, parent, address);
}

/* Returns the new node, or one that somebody else just made; 0 if there is no room. */
uint32_t trie_add(struct trie *trie, uint64_t hash, uint32_t parent, uint64_t address,
		  uint32_t module);

/* Makes room for many, as long as there is memory to be had. */
void trie_reserve(struct trie *trie);

/* From here on no node so far is found again: addresses mean something else now. */
bool trie_forget(struct trie *trie);

#endif
