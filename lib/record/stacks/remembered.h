/* SPDX-License-Identifier: MIT */
/*
 * remembered - whole stacks of each thread, to complete one that breaks off.
 *
 *	struct remembered remembered = { 0 };
 *	struct remembered_thread *thread = remembered_of(&remembered, key);
 *
 *	for (size_t i = 0; i < REMEMBERED_STACKS; i++) {
 *		at = remembered_find(&thread->stacks[i], return_at);
 *		if (at)
 *			// its frames.at[at - 1] and down to [0] may be the callers of [at]
 *	}
 *	stack = remembered_place(thread, is_deep);
 *	remembered_put(stack, &walked);
 *	remembered_release(&remembered);
 *
 * The first ones are the last whole stacks that there were.  The others are those that took some
 * effort or may soon: they were deeper than the copy, or half of it.
 *
 *	usual = remembered_callers(thread, &frame);	// with the callers just read
 *
 * What was read while the program ran on may be of another call by then.  It is believed when the
 * same frame has had the same callers each time lately.
 *
 * Threads share a table of fixed size; one that loses its place starts anew.
 */
#ifndef RECORD_STACKS_REMEMBERED_H
#define RECORD_STACKS_REMEMBERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "record/stacks/stacks.h"

/* A frame with the registers that it was found with. */
struct walked {
	struct stack_frame frame;
	uint64_t sp, fp;
	uint64_t return_at; /* where its pc was read, of a frame that made a call; else 0 */
	uint64_t fp_at;	    /* where fp was read; 0: it is that of the frame inside */
	bool fp_lost, sp_lost;
	bool sp_read; /* sp is not where the frame inside says, but by words that it saved */
};

struct walked_vec {
	struct walked *at;
	size_t nr, room;
};

struct remembered_stack {
	struct walked_vec frames; /* the root first */
	enum unwind_end end;
	const struct module *end_module;
};

enum {
	REMEMBERED_THREADS = 256,
	REMEMBERED_STACKS = 8,	/* of a thread */
	REMEMBERED_SHALLOW = 2, /* of these */
	REMEMBERED_FRAMES = 16, /* likewise, with their callers */
	REMEMBERED_USUAL = 4,	/* times in a row */
};

/* A function at a place of the stack, and the callers it was seen with. */
struct remembered_frame {
	const struct module *module;
	uint64_t function, sp;
	uint64_t callers;
	uint32_t nr_same;
};

struct remembered_thread {
	uint64_t key;
	struct remembered_stack stacks[REMEMBERED_STACKS];
	size_t nr_deep, nr_shallow; /* put so far */
	struct remembered_frame frames[REMEMBERED_FRAMES];
};

struct remembered {
	struct remembered_thread *at; /* REMEMBERED_THREADS of them, or NULL */
};

/* key: whatever tells threads and their programs apart. */
struct remembered_thread *remembered_of(struct remembered *remembered, uint64_t key);
/* The same; NULL if it has no place (any more). */
struct remembered_thread *remembered_known(const struct remembered *remembered, uint64_t key);
void remembered_release(struct remembered *remembered);

/* The index of the frame whose return address is there; 0: none. */
size_t remembered_find(const struct remembered_stack *stack, uint64_t return_at);

/* Where the next one goes. */
struct remembered_stack *remembered_place(struct remembered_thread *thread, bool is_deep);
/* Replaces the frames by those of walked, where the leaf comes first. */
void remembered_put(struct remembered_stack *stack, const struct walked_vec *walked);

/* Notes the callers of the frame (but nr_same of it is given): whether they are the usual ones. */
bool remembered_callers(struct remembered_thread *thread, const struct remembered_frame *frame);

#endif
