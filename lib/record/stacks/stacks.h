/* SPDX-License-Identifier: MIT */
/*
 * stacks - from the registers and stack bytes of a sample to its frames.
 *
 *	struct stacks *stacks = stacks_new();
 *	struct stack stack;			// 32 KiB: one per thread that walks, reused
 *	struct stack_sample sample = { .registers = &registers, .bytes = bytes, .nr_bytes = nr };
 *
 *	stacks_walk(stacks, &process->space, &sample, &stack);
 *	for (size_t i = 0; i < stack.nr; i++)	// leaf first
 *		use(stack.frames[i].module, stack.frames[i].address);
 *	if (!unwind_end_is_root(stack.end))
 *		count(stack.end, stack.end_module);
 *
 * By the call frame information of each module, evaluated when an address is first met and kept for
 * all processes; where there is none, by frame pointers.  The user part only: kernel frames
 * come from perf's own chain and go in front.  One thread at a time.
 *
 * Where the stack goes on beyond the copy, so does the walk, by what it has first:
 *
 *	the program's memory		as it was soon after, then as it is now: if the frame at the
 *					copy's end proves to be there still, or has had the callers
 *					found there each time lately
 *	whole stacks of the thread	if two have the same function at the same place
 *	the kernel's frame pointers	while the CFI says that these frames keep them
 */
#ifndef RECORD_STACKS_STACKS_H
#define RECORD_STACKS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "object/space.h"
#include "record/stacks/words.h"
#include "unwind/end.h"
#include "unwind/rule.h"

enum {
	STACK_FRAMES_MAX = 1024,
};

/* How a frame was found. */
enum stack_origin {
	STACK_BY_CFI,	 /* the leaf too */
	STACK_BY_FP,	 /* no CFI: by the frame pointer */
	STACK_BY_MEMORY, /* by words read from the program after the sample was taken */
	STACK_BY_LAST,	 /* in whole stacks of the thread */
	STACK_BY_CHAIN,	 /* in the kernel's chain of frame pointers */
	STACK_NR_ORIGINS
};

struct stack_frame {
	const struct module *module; /* NULL: in no mapping */
	uint64_t address; /* in the module's file, to look things up by: of the call, for callers */
	uint64_t pc;	  /* as it was; for callers the return address */
	enum stack_origin origin;
};

/* A stack deeper than STACK_FRAMES_MAX has lost `elided` frames before frames[elided_at]: both
 * the leaf's side and the root's are there. */
struct stack {
	struct stack_frame frames[STACK_FRAMES_MAX]; /* leaf first */
	size_t nr;
	size_t elided, elided_at;

	uint32_t origins; /* of frames: bits 1 << enum stack_origin */
	uint64_t depth;	  /* bytes of the stack that were needed, as far as it was walked */
	bool has_other;	  /* there is a second one: a signal handler had a stack of its own */

	enum unwind_end end;
	enum unwind_unsupported unsupported; /* with UNWIND_END_UNSUPPORTED */
	const struct module *end_module;     /* where it ended; NULL: in no mapping */
};

/* What an UNWIND_END_UNSUPPORTED is about, for a report.  Never NULL. */
const char *stack_unsupported_text(enum unwind_unsupported why);

struct stack_registers {
	uint64_t pc, sp, fp;
	/* All by DWARF number; a few functions (realigned, assembly) need others than the above. */
	uint64_t general[ARCH_NR_GENERAL];
	bool has_general;
};

/* From the words of a perf sample that asked for the registers of ARCH_PERF_MASK. */
struct stack_registers stack_registers_of_perf(const uint64_t *words);

struct stack_sample {
	const struct stack_registers *registers;
	const void *bytes; /* of the stack, from sp on */
	size_t nr_bytes;
	const uint64_t *chain; /* the kernel's, user part: pc, then return addresses */
	size_t nr_chain;
	uint64_t thread; /* whatever tells threads and their programs apart; 0: not known */
	const struct stack_rest *rest;	   /* what followed the copy soon after; NULL: not known */
	const struct stack_memory *memory; /* the program's, as it is now; NULL: cannot be read */
};

struct stacks;

struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);

/*
 * Walks from the registers.  Frame 0, the pc itself, is always there.  A walk that ends with
 * UNWIND_END_BAD_READ needed more of the stack than was copied or could be had otherwise;
 * UNWIND_END_NO_STACK says that there were no bytes at all.
 */
void stacks_walk(struct stacks *stacks, const struct space *space,
		 const struct stack_sample *sample, struct stack *stack);

/*
 * A stack that breaks off can be completed by one that the same thread has later as well.
 *
 *	if (!unwind_end_is_root(stack.end))
 *		unfinished = stacks_keep(stacks);	// NULL: nothing can help
 *	...
 *	if (!stacks_retry(stacks, unfinished, &stack) && is_late)
 *		stacks_give_up(stacks, unfinished, &stack);
 *	stacks_forget(unfinished);
 */
struct unfinished;

/* What the last walk has found. */
struct unfinished *stacks_keep(const struct stacks *stacks, const struct stack *stack);
/* False: *stack is of no use, and a later one may help. */
bool stacks_retry(struct stacks *stacks, struct unfinished *unfinished, struct stack *stack);
/* Sets *stack to what the walk had found. */
void stacks_give_up(struct stacks *stacks, struct unfinished *unfinished, struct stack *stack);
void stacks_forget(struct unfinished *unfinished);

/* What it cost so far. */
struct stacks_figures {
	uint64_t walks, frames;
	uint64_t evaluated; /* rows: look-ups that the cache did not have */
	uint64_t row_bytes; /* CFI held in memory */
};
struct stacks_figures stacks_figures(const struct stacks *stacks);

#endif
