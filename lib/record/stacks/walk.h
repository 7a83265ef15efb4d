/* SPDX-License-Identifier: MIT */
/*
 * walk - one walk up a stack, from frame to frame.
 *
 *	struct walk walk = { .rules = &rules, .walked = &walked, .space = space, ... };
 *
 *	walk_on(&walk);			// as far as the words go
 *	walk_beyond(&walk);		// see beyond.h
 *
 * For stacks.c and what completes its walks; see stacks.h for what a walk goes by.
 */
#ifndef RECORD_STACKS_WALK_H
#define RECORD_STACKS_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "object/space.h"
#include "record/stacks/remembered.h"
#include "record/stacks/rules.h"
#include "record/stacks/stacks.h"
#include "record/stacks/words.h"
#include "unwind/step.h"

enum {
	WALK_STEPS_MAX = 1 << 14,
	WALK_SIGNAL_FRAME_MAX = 128 * 1024, /* bytes: some registers are large */
};

struct walk {
	struct rules *rules;
	struct walked_vec *walked; /* so far, leaf first */
	const struct space *space;
	const struct stack_sample *sample;
	struct words words;
	struct unwind_frame frame;
	const struct mapping *mapping;	       /* of the frame before, or NULL */
	enum stack_origin origin;	       /* of the frame */
	bool sp_read;			       /* likewise, as struct walked has it */
	unwind_rule rule;		       /* for the frame added last */
	size_t nr_own;			       /* frames before another stack; 0: all so far */
	size_t nr_windows;		       /* when the remembered stack was last looked at */
	struct remembered_thread *thread;      /* NULL: not known */
	const struct remembered_stack *joined; /* one of its stacks; NULL: none */
	size_t nr_kept;	    /* first frames of that, which are the outermost here */
	uint64_t return_at; /* see beyond.h; 0: nothing to wait for */
	struct stack *stack;
};

/* Where pc is mapped, or NULL.  Callers are often in the same mapping. */
static inline const struct mapping *walk_mapping(struct walk *walk, uint64_t pc)
{
	const struct mapping *last = walk->mapping;

	if (!last || pc < last->start || pc >= last->end)
		walk->mapping = space_find(walk->space, pc);
	return walk->mapping;
}

/* Whether a signal handler has interrupted another stack than it runs on, by the sp of both. */
static inline bool walk_is_other_stack(uint64_t handler_sp, uint64_t interrupted_sp)
{
	return interrupted_sp - handler_sp > WALK_SIGNAL_FRAME_MAX;
}

/* Adds the frame that the walk is at; an end if it is in no mapping. */
enum unwind_end walk_add(struct walk *walk);
/* From the frame that was added last to its caller. */
enum unwind_end walk_step(struct walk *walk);
/* Adds frames until one has no caller that can be had, and sets the stack's end. */
void walk_on(struct walk *walk);

#endif
