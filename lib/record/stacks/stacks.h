/* SPDX-License-Identifier: MIT */
/*
 * stacks - from the registers and stack bytes of a sample to its frames.
 *
 *	struct stacks *stacks = stacks_new();
 *	struct stack stack;			// 24 KiB: one per thread that walks, reused
 *
 *	stacks_walk(stacks, &process->space, &registers, bytes, nr_bytes, &stack);
 *	for (size_t i = 0; i < stack.nr; i++)	// leaf first
 *		use(stack.frames[i].module, stack.frames[i].address);
 *	if (!unwind_end_is_root(stack.end))
 *		count(stack.end, stack.end_module);
 *
 * By the call frame information of each module, evaluated when an address is first met and kept for
 * all processes; where there is none, by frame pointers.  The user part only: kernel frames
 * come from perf's own chain and go in front.  One thread at a time.
 */
#ifndef RECORD_STACKS_STACKS_H
#define RECORD_STACKS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "object/space.h"
#include "unwind/end.h"
#include "unwind/rule.h"

enum {
	STACK_FRAMES_MAX = 1024,
};

struct stack_frame {
	const struct module *module; /* NULL: in no mapping */
	uint64_t address; /* in the module's file, to look things up by: of the call, for callers */
	uint64_t pc;	  /* as it was; for callers the return address */
};

/* A stack deeper than STACK_FRAMES_MAX has lost `elided` frames before frames[elided_at]: both
 * the leaf's side and the root's are there. */
struct stack {
	struct stack_frame frames[STACK_FRAMES_MAX]; /* leaf first */
	size_t nr;
	size_t elided, elided_at;

	enum unwind_end end;
	enum unwind_unsupported unsupported; /* with UNWIND_END_UNSUPPORTED */
	const struct module *end_module;     /* where it ended; NULL: in no mapping */
};

struct stack_registers {
	uint64_t pc, sp, fp;
	/* All by DWARF number; a few functions (realigned, assembly) need others than the above. */
	uint64_t general[ARCH_NR_GENERAL];
	bool has_general;
};

/* From the words of a perf sample that asked for the registers of ARCH_PERF_MASK. */
struct stack_registers stack_registers_of_perf(const uint64_t *words);

struct stacks;

struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);

/*
 * Walks from the registers, reading words only from the nr_bytes of the stack that start at sp.
 * Frame 0, the pc itself, is always there.  A walk that ends with UNWIND_END_BAD_READ needed more
 * of the stack than was copied; UNWIND_END_NO_STACK says that there were no bytes at all.
 */
void stacks_walk(struct stacks *stacks, const struct space *space,
		 const struct stack_registers *registers, const void *bytes, size_t nr_bytes,
		 struct stack *stack);

/* What it cost so far. */
struct stacks_figures {
	uint64_t walks, frames;
	uint64_t evaluated; /* rows: look-ups that the cache did not have */
	uint64_t row_bytes; /* CFI held in memory */
};
struct stacks_figures stacks_figures(const struct stacks *stacks);

#endif
