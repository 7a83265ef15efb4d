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
 * that lead to it.  Only words of the thread's own stack, which stays; frames on others are walked
 * each time.  Return addresses are never changed.
 *
 * One thread at one level of nesting.  A signal handler may jump out of the middle of a walk.
 */
#ifndef SHIM_WALK_H
#define SHIM_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/exits.h"
#include "shim/modules.h"
#include "shim/stack.h"
#include "shim/trie.h"
#include "unwind/step.h"

#define WALK_FRAMES 16384 /* deeper stacks lose their middle */
#define WALK_PLACE_BITS 10

/* What has to be so for a frame of the last walk to be found again. */
struct walk_state {
	uint32_t nr_fps; /* saved frame pointers that are where they were */
	uint32_t flags;	 /* WALK_ */
};

enum {
	WALK_NEEDS_FP = 1, /* what is further out depends on fp here */
	WALK_SP_LOST = 2,  /* sp is not that of the frame, but further up */
};

/* A frame on its way into the arrays, whose number is known when all are found. */
struct walk_found {
	uint64_t sp;
	uint64_t pc; /* with WIRE_EXACT_PC where it was interrupted: then it is in no slot */
	uint64_t fp;
	union exit_way way; /* in place of a distance flags, if it takes more than that */
};

/* A frame pointer that a walk has read. */
struct walk_fp {
	uint64_t address, value;
};

struct walk {
	struct modules *modules;
	struct trie *trie;
	uint32_t generation;
	struct stack stack;
	uint32_t nr;	       /* frames of the last walk */
	uint32_t nr_checkable; /* of them: the way out of the next one cannot be checked */
	uint16_t place[1 << WALK_PLACE_BITS]; /* by sp: which frame it may be of */
	struct exits exits;
	/* From the end backwards: so few of them are on one page with the first of sp. */
	struct walk_found found[WALK_FRAMES];
	/* The frames of the last walk, an array for each word: those of some are all looked at. */
	uint64_t sp[WALK_FRAMES], pc[WALK_FRAMES];
	uint64_t hash[WALK_FRAMES]; /* of the stack from there on, for the trie */
	uint32_t node[WALK_FRAMES];
	struct walk_state state[WALK_FRAMES];
	unwind_rule rule[WALK_FRAMES]; /* to the caller; not where sp alone leads there, nor fp */
	uint64_t fp[WALK_FRAMES];
	uint64_t return_at[WALK_FRAMES];   /* where pc is on the stack, if that is not below sp */
	struct walk_fp saved[WALK_FRAMES]; /* of those frames that have one, in their order */
	uint64_t found_at[WALK_FRAMES];	   /* return_at of those in found */
};

void walk_init(struct walk *walk, struct modules *modules, struct trie *trie, uint64_t top);

/* The node of the innermost frame; WIRE_STACK_OTHER if the trie is full. */
uint32_t walk_stack(struct walk *walk, uint64_t pc, uint64_t sp, uint64_t fp);

/* The rule to leave the function around pc.  Changes nothing: a signal handler may ask a walk that it
 * interrupted. */
unwind_rule walk_rule(const struct walk *walk, const struct unwind_frame *frame);

#endif
