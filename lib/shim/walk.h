/* SPDX-License-Identifier: MIT */
/*
 * walk - the call stack of the calling thread, as a node of the trie.
 *
 *	walk_init(&walk, &modules, &trie, stack_top());
 *	id = walk_stack(&walk, pc, sp, fp);	// a return address, and the registers it returns to
 *
 * Frames of the last walk are kept, root first.  A new walk goes on only until it meets one of them
 * and then checks that everything further out is as it was: exact, and far cheaper than stepping,
 * since between two allocations mostly a few inner frames change.  What is checked: each return
 * address is still in its slot; and where a frame's CFA depends on the frame pointer, those saved
 * that lead to it.  Return addresses are never changed.
 *
 * One thread at one level of nesting.  A signal handler may jump out of the middle of a walk.
 */
#ifndef SHIM_WALK_H
#define SHIM_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/modules.h"
#include "shim/stack.h"
#include "shim/trie.h"
#include "unwind/cache.h"

#define WALK_FRAMES 16384 /* deeper stacks lose their middle */
#define WALK_CACHE_BITS 11

struct walk_frame {
	uint64_t sp, pc, fp;
	uint32_t node;
	uint16_t fp_slot; /* words below the caller's sp where fp is saved, 0: not needed */
	uint16_t flags;	  /* WALK_ */
};

enum {
	WALK_NEEDS_FP = 1, /* what is further out depends on fp here */
	WALK_BARRIER = 2,  /* the way out of here cannot be checked, only walked */
	WALK_EXACT = 4,	   /* interrupted here: pc is in no slot */
};

struct walk {
	struct modules *modules;
	struct trie *trie;
	uint32_t generation;
	struct stack stack;
	uint32_t nr; /* frames of the last walk */
	struct unwind_cache_entry cache[1 << WALK_CACHE_BITS];
	struct walk_frame frame[WALK_FRAMES];
};

void walk_init(struct walk *walk, struct modules *modules, struct trie *trie, uint64_t top);

/* The node of the innermost frame; WIRE_STACK_OTHER if the trie is full. */
uint32_t walk_stack(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp);

/* The rule to leave the function around pc. */
unwind_rule walk_rule(struct walk *walk, uint64_t pc);

#endif
