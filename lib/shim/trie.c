/* SPDX-License-Identifier: MIT */
#include "shim/trie.h"

#include "shim/sys.h"

#define FIRST_LOG2 6 /* with its head, half a page: most processes are short */
#define GROW_LOG2 2
#define RESERVE_LOG2 16

static size_t bytes_of(uint32_t log2)
{
	return sizeof(struct trie_index) + (sizeof(struct trie_entry) << log2);
}

static struct trie_index *index_new(struct trie *trie, struct trie_index *older, uint32_t log2)
{
	struct trie_index *index = sys_mmap_private(bytes_of(log2));

	if (sys_failed(index))
		return NULL;
	atomic_fetch_add(&trie->segment->index_bytes, bytes_of(log2));
	index->older = older;
	index->log2 = log2;
	return index;
}

static void index_free(struct trie *trie, struct trie_index *index)
{
	atomic_fetch_sub(&trie->segment->index_bytes, bytes_of(index->log2));
	sys_munmap(index, bytes_of(index->log2));
}

static struct wire_node *node(struct trie *trie, uint32_t id)
{
	struct wire_node *block = area_block(&trie->nodes, id >> TRIE_BLOCK_LOG2);

	return block ? &block[id & ((1u << TRIE_BLOCK_LOG2) - 1)] : NULL;
}

/* The id of the node, or 0 and the free entry where it would be. */
static inline uint32_t probe(struct trie_index *index, uint64_t hash, uint32_t parent,
			     uint64_t address, struct trie_entry **entry)
{
	uint32_t mask = (1u << index->log2) - 1;

	for (uint32_t i = (uint32_t)(hash >> (64 - index->log2));; i++) {
		*entry = &index->entry[i & mask];

		uint64_t there = atomic_load_explicit(&(*entry)->address, memory_order_relaxed);
		if (!there)
			return 0;
		if (there != address)
			continue;
		uint64_t value = atomic_load_explicit(&(*entry)->value, memory_order_acquire);
		if (value && value >> 32 == parent)
			return (uint32_t)value;
	}
}

/* Half full: the next one takes over.  On failure this one goes on until it is nearly full. */
static struct trie_index *grow(struct trie *trie, struct trie_index *index)
{
	struct trie_index *larger = index_new(trie, index, index->log2 + GROW_LOG2);

	if (!larger)
		return index->count < (1u << index->log2) / 8 * 7 ? index : NULL;
	if (atomic_compare_exchange_strong(&trie->index, &index, larger))
		return larger;
	index_free(trie, larger);
	return index;
}

/* Enters id for the node unless another one is there already; returns what is there, 0 if full. */
static uint32_t enter(struct trie *trie, uint64_t hash, uint32_t parent, uint64_t address,
		      uint32_t id)
{
	struct trie_index *index = atomic_load_explicit(&trie->index, memory_order_acquire);
	uint64_t nothing = 0;
	struct trie_entry *entry;
	uint32_t there;

	if (index->count >= 1u << (index->log2 - 1))
		index = grow(trie, index);
	if (!index)
		return 0;
	do {
		nothing = 0;
		there = probe(index, hash, parent, address, &entry);
		if (there)
			return there;
	} while (!atomic_compare_exchange_strong(&entry->address, &nothing, address));
	atomic_store_explicit(&entry->value, (uint64_t)parent << 32 | id, memory_order_release);
	atomic_fetch_add_explicit(&index->count, 1, memory_order_relaxed);
	return id;
}

bool trie_init(struct trie *trie, int fd, uint64_t at, struct wire_segment *segment)
{
	size_t block_bytes = sizeof(struct wire_node) << TRIE_BLOCK_LOG2;

	if (!area_init(&trie->nodes, fd, at, block_bytes, WIRE_NODES >> TRIE_BLOCK_LOG2))
		return false;
	trie->segment = segment;
	atomic_store(&segment->nodes_used, 1);
	return trie_forget(trie);
}

void trie_reserve(struct trie *trie)
{
	struct trie_index *index = atomic_load_explicit(&trie->index, memory_order_acquire);

	while (index && index->log2 < RESERVE_LOG2) {
		uint32_t log2 = index->log2;

		index = grow(trie, index);
		if (index && index->log2 == log2)
			return;
	}
}

bool trie_forget(struct trie *trie)
{
	struct trie_index *index = index_new(trie, NULL, FIRST_LOG2);

	if (index)
		atomic_store_explicit(&trie->index, index, memory_order_release);
	return index;
}

/* In an older index, then entered into the newest; 0 if in none. */
static uint32_t find_older(struct trie *trie, struct trie_index *index, uint64_t hash,
			   uint32_t parent, uint64_t address)
{
	struct trie_entry *entry;

	for (; index; index = index->older) {
		uint32_t id = probe(index, hash, parent, address, &entry);

		if (id)
			return enter(trie, hash, parent, address, id);
	}
	return 0;
}

uint32_t trie_find_elsewhere(struct trie *trie, uint64_t hash, uint32_t parent, uint64_t address)
{
	struct trie_index *index = atomic_load_explicit(&trie->index, memory_order_acquire);
	struct trie_entry *entry;
	uint32_t id = probe(index, hash, parent, address, &entry);

	return id ? id : find_older(trie, index->older, hash, parent, address);
}

uint32_t trie_add(struct trie *trie, uint64_t hash, uint32_t parent, uint64_t address,
		  uint32_t module)
{
	_Atomic uint32_t *used = &trie->segment->nodes_used;
	uint32_t id = atomic_fetch_add_explicit(used, 1, memory_order_relaxed);
	struct wire_node *n = id < WIRE_NODES ? node(trie, id) : NULL;

	if (!n) {
		atomic_fetch_sub_explicit(used, 1, memory_order_relaxed);
		return 0;
	}
	n->address = address;
	n->parent = parent;
	n->module = module;
	return enter(trie, hash, parent, address, id);
}
