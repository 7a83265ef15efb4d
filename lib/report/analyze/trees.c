/* SPDX-License-Identifier: MIT */
#include "report/analyze/trees.h"

#include <stdlib.h>

#include "base/alloc.h"

/* Callers have lower ids than callees, so one pass downwards is enough. */
static void mark(struct trees *trees, uint32_t stack)
{
	const struct profile *profile = trees->chains->profile;
	const struct profile_stack *s = &profile->stacks[stack];
	enum profile_address_kind kind = profile->addresses[s->address].kind;

	trees->truncated[stack] = s->parent == PROFILE_NONE ? kind == PROFILE_ADDRESS_TRUNCATED
							    : trees->truncated[s->parent];
}

/* Downwards, so that siblings end up in the order of their ids. */
static void link_stacks(struct trees *trees)
{
	const struct profile *profile = trees->chains->profile;

	for (uint32_t i = (uint32_t)profile->nr_stacks; i-- > 0;) {
		uint32_t parent = profile->stacks[i].parent;
		uint32_t *head = parent == PROFILE_NONE ? &trees->root : &trees->child[parent];

		trees->sibling[i] = *head;
		*head = i;
	}
}

void trees_init(struct trees *trees, const struct chains *chains)
{
	size_t nr = chains->profile->nr_stacks;

	*trees = (struct trees){
		.chains = chains,
		.weight = xcalloc(nr + 1, sizeof(double)),
		.child = xcalloc(nr + 1, sizeof(uint32_t)),
		.sibling = xcalloc(nr + 1, sizeof(uint32_t)),
		.root = PROFILE_NONE,
		.truncated = xcalloc(nr + 1, sizeof(bool)),
	};
	for (uint32_t i = 0; i < nr; i++) {
		trees->child[i] = PROFILE_NONE;
		mark(trees, i);
	}
	link_stacks(trees);
}

void trees_release(struct trees *trees)
{
	free(trees->weight);
	free(trees->child);
	free(trees->sibling);
	free(trees->truncated);
	*trees = (struct trees){ 0 };
}

void trees_sum(struct trees *trees)
{
	const struct profile *profile = trees->chains->profile;

	for (uint32_t i = (uint32_t)profile->nr_stacks; i-- > 0;) {
		uint32_t parent = profile->stacks[i].parent;

		if (parent != PROFILE_NONE)
			trees->weight[parent] += trees->weight[i];
	}
}

/* A walk through all trees: how often each function is on the path from the root to here. */
struct walk {
	const struct trees *trees;
	uint32_t *on_path;
	double *total;
};

static void enter(struct walk *walk, uint32_t stack)
{
	const struct chains *chains = walk->trees->chains;
	uint32_t address = chains->profile->stacks[stack].address;

	for (uint32_t i = chains->first[address]; i < chains->first[address + 1]; i++) {
		uint32_t function = chains->frames[i].function;

		if (!walk->on_path[function]++)
			walk->total[function] += walk->trees->weight[stack];
	}
}

static void leave(struct walk *walk, uint32_t stack)
{
	const struct chains *chains = walk->trees->chains;
	uint32_t address = chains->profile->stacks[stack].address;

	for (uint32_t i = chains->first[address]; i < chains->first[address + 1]; i++)
		walk->on_path[chains->frames[i].function]--;
}

/* The next stack of weight that is stack or a sibling after it. */
static uint32_t heavy(const struct trees *trees, uint32_t stack)
{
	while (stack != PROFILE_NONE && trees->weight[stack] <= 0)
		stack = trees->sibling[stack];
	return stack;
}

/* Leaves stack and those of its callers that have no further callees; the next stack to enter. */
static uint32_t climb(struct walk *walk, uint32_t stack)
{
	const struct profile *profile = walk->trees->chains->profile;
	uint32_t next;

	do {
		leave(walk, stack);
		next = heavy(walk->trees, walk->trees->sibling[stack]);
		stack = profile->stacks[stack].parent;
	} while (next == PROFILE_NONE && stack != PROFILE_NONE);
	return next;
}

void trees_functions(const struct trees *trees, double *total)
{
	struct walk walk = {
		.trees = trees,
		.on_path = xcalloc(trees->chains->nr_functions + 1, sizeof(uint32_t)),
		.total = total,
	};
	uint32_t stack = heavy(trees, trees->root), next;

	while (stack != PROFILE_NONE) {
		enter(&walk, stack);
		next = heavy(trees, trees->child[stack]);
		stack = next != PROFILE_NONE ? next : climb(&walk, stack);
	}
	free(walk.on_path);
}
