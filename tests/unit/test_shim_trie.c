/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>

#include "shim/trie.h"
#include "shim_file.h"

static struct shim_file file;
static struct trie trie;

static void set_up(void)
{
	shim_file_make(&file, 8);
	cr_assert(trie_init(&trie, file.fd, wire_segment_at(0) + WIRE_NODES_AT, file.head));
}

TestSuite(shim_trie, .init = set_up);

static const struct wire_node *node(uint32_t id)
{
	return (const struct wire_node *)(file.segment + WIRE_NODES_AT) + id;
}

static uint64_t hash_of(uint32_t id)
{
	return id ? trie_hash(hash_of(node(id)->parent), node(id)->address) : 0;
}

static uint32_t find(uint32_t parent, uint64_t address)
{
	return trie_find(&trie, trie_hash(hash_of(parent), address), parent, address);
}

static uint32_t intern(uint32_t parent, uint64_t address)
{
	uint32_t id = find(parent, address);

	return id ? id : trie_add(&trie, trie_hash(hash_of(parent), address), parent, address, 1);
}

Test(shim_trie, the_same_frame_under_the_same_caller_is_one_node)
{
	uint32_t a = intern(0, 0x1000), b = intern(a, 0x2000);

	cr_expect(eq(u32, intern(0, 0x1000), a));
	cr_expect(eq(u32, intern(a, 0x2000), b));
	cr_expect(ne(u32, intern(0, 0x2000), b));
	cr_expect(ne(u32, intern(b, 0x2000), b));
	cr_expect(eq(u64, node(b)->address, 0x2000));
	cr_expect(eq(u32, node(b)->parent, a));
}

Test(shim_trie, finds_everything_again_after_it_grew)
{
	enum { NR = 200000 };
	static uint32_t ids[NR];

	for (uint32_t i = 0; i < NR; i++) {
		ids[i] = intern(i ? ids[i / 3] : 0, 0x400000 + i * 5);
		cr_assert(ids[i] != 0);
	}
	for (uint32_t i = 0; i < NR; i++)
		cr_assert(eq(u32, find(i ? ids[i / 3] : 0, 0x400000 + i * 5), ids[i]));
	cr_expect(eq(u32, file.head->nodes_used, NR + 1));
}

Test(shim_trie, tells_stacks_of_the_same_hash_apart)
{
	uint32_t a = trie_add(&trie, 1, 0, 0x1000, 1), b = trie_add(&trie, 1, 0, 0x2000, 1),
		 c = trie_add(&trie, 1, a, 0x1000, 1);

	cr_expect(eq(u32, trie_find(&trie, 1, 0, 0x1000), a));
	cr_expect(eq(u32, trie_find(&trie, 1, 0, 0x2000), b));
	cr_expect(eq(u32, trie_find(&trie, 1, a, 0x1000), c));
	cr_expect(zero(u32, trie_find(&trie, 1, b, 0x1000)));
}

Test(shim_trie, forgets_when_addresses_change_their_meaning)
{
	uint32_t a = intern(0, 0x1000);

	cr_assert(trie_forget(&trie));
	cr_expect(zero(u32, find(0, 0x1000)));
	cr_expect(ne(u32, intern(0, 0x1000), a));
	cr_expect(eq(u64, node(a)->address, 0x1000));
}

Test(shim_trie, refuses_when_ids_run_out)
{
	atomic_store(&file.head->nodes_used, WIRE_NODES - 1);
	cr_expect(eq(u32, intern(0, 0x1000), WIRE_NODES - 1));
	cr_expect(zero(u32, intern(0, 0x2000)));
	cr_expect(zero(u32, intern(0, 0x3000)));
	cr_expect(eq(u32, intern(0, 0x1000), WIRE_NODES - 1));
}

/* Pseudo-random stacks, the same for each thread. */
static uint32_t random_stack(uint64_t seed)
{
	uint32_t id = 0;

	for (int depth = 0; depth < 20; depth++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		id = intern(id, 0x1000 + seed % 3);
	}
	return id;
}

static void *intern_many(void *arg)
{
	(void)arg;
	for (uint64_t i = 1; i < 20000; i++)
		random_stack(i * 7919);
	return NULL;
}

Test(shim_trie, threads_agree_on_stacks_and_parents_come_first)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, intern_many, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);

	uint32_t used = file.head->nodes_used;

	for (uint32_t i = 1; i < used; i++)
		cr_assert(node(i)->parent < i && node(i)->address - 0x1000 < 3);
	intern_many(NULL);
	cr_expect(eq(u32, file.head->nodes_used, used));
}
