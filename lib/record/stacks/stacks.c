/* SPDX-License-Identifier: MIT */
#include "record/stacks/stacks.h"

#include <string.h>

#include "arch/perf_regs.h"
#include "base/alloc.h"
#include "base/vec.h"
#include "record/stacks/beyond.h"
#include "record/stacks/joint.h"
#include "record/stacks/remembered.h"
#include "record/stacks/rules.h"
#include "record/stacks/walk.h"

enum {
	LEAF_FRAMES = STACK_FRAMES_MAX / 2, /* of a stack too deep; the rest is the root's side */
	ROOT_FRAMES = STACK_FRAMES_MAX - LEAF_FRAMES,
};

struct stacks {
	struct rules rules;
	struct remembered remembered;
	struct walked_vec walked;    /* of the walk at hand, leaf first */
	struct words_window *window; /* likewise */
	struct {
		uint64_t thread, sp, return_at; /* 0: cannot be completed */
		size_t nr_own;
	} last; /* likewise */
	uint64_t walks, frames;
};

struct unfinished {
	struct walked_vec walked;
	uint64_t thread, sp, return_at;
	size_t nr_own; /* as struct walk has it */
	uint32_t origins;
	enum unwind_end end;
	const struct module *end_module;
};

struct stack_registers stack_registers_of_perf(const uint64_t *words)
{
	struct stack_registers registers = {
		.pc = words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_PC)],
		.sp = words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_SP)],
		.fp = words[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_FP)],
		.has_general = true,
	};

	for (size_t i = 0; i < ARCH_NR_GENERAL; i++)
		registers.general[i] = words[arch_perf_slot(ARCH_PERF_MASK, arch_perf_of_dwarf[i])];
	return registers;
}

const char *stack_unsupported_text(enum unwind_unsupported why)
{
	static const char *const texts[UNWIND_NR_UNSUPPORTED] = {
		[UNWIND_CFA_REGISTER] = "CFI relative to a register whose value is not known",
		[UNWIND_CFA_EXPRESSION] = "CFI with an expression of a form not known",
		[UNWIND_CFA_OFFSET] = "a frame of more than 2 MiB, or not of whole words",
		[UNWIND_RETURN_ADDRESS] = "a return address where calls do not put it",
		[UNWIND_STACK_POINTER] = "a caller whose stack pointer is not the CFA",
		[UNWIND_SIGNAL_FRAME] = "a signal frame other than the kernel's",
	};

	return (unsigned int)why < UNWIND_NR_UNSUPPORTED ? texts[why]
							 : unwind_end_text(UNWIND_END_UNSUPPORTED);
}

struct stacks *stacks_new(void)
{
	struct stacks *stacks = xcalloc(1, sizeof(*stacks));

	rules_init(&stacks->rules);
	stacks->window = xmalloc(sizeof(*stacks->window));
	return stacks;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	rules_release(&stacks->rules);
	remembered_release(&stacks->remembered);
	vec_free(&stacks->walked);
	free(stacks->window);
	free(stacks);
}

struct stacks_figures stacks_figures(const struct stacks *stacks)
{
	struct rules_figures figures = rules_figures(&stacks->rules);

	return (struct stacks_figures){ .walks = stacks->walks,
					.frames = stacks->frames,
					.evaluated = figures.evaluated,
					.row_bytes = figures.row_bytes };
}

/* --- the result ------------------------------------------------------------------------ */

/* Of all frames, the leaf's first, those of the walk come before those that are remembered. */
static void put_frames(const struct walk *walk, size_t to, size_t from, size_t nr)
{
	const struct walked_vec *walked = walk->walked;
	struct stack_frame *frames = &walk->stack->frames[to];

	for (; nr && from < walked->nr; from++, nr--)
		*frames++ = walked->at[from].frame;
	for (; nr; from++, nr--) {
		*frames = walk->joined->frames.at[walk->nr_kept - 1 - (from - walked->nr)].frame;
		frames++->origin = STACK_BY_LAST;
	}
}

/* Of a stack that is too deep, the leaf's side and the root's. */
static void put_stack(const struct walk *walk)
{
	struct stack *stack = walk->stack;
	size_t nr = walk->walked->nr + walk->nr_kept;

	stack->nr = nr < STACK_FRAMES_MAX ? nr : STACK_FRAMES_MAX;
	stack->elided = nr - stack->nr;
	stack->elided_at = stack->elided ? LEAF_FRAMES : 0;
	if (stack->elided) {
		put_frames(walk, 0, 0, LEAF_FRAMES);
		put_frames(walk, LEAF_FRAMES, nr - ROOT_FRAMES, ROOT_FRAMES);
	} else {
		put_frames(walk, 0, 0, nr);
	}
}

/* Of the frames that were joined, how many are on the stack that is walked: all, or those up to where a
 * signal handler left the interrupted one for its own. */
static size_t joined_of_own(const struct walk *walk)
{
	uint64_t sp = vec_last(walk->walked)->sp;
	size_t nr = 0;

	for (; nr < walk->nr_kept; nr++) {
		const struct walked *frame = &walk->joined->frames.at[walk->nr_kept - 1 - nr];

		if (!frame->return_at && walk_is_other_stack(sp, frame->sp))
			break;
		sp = frame->sp;
	}
	return nr;
}

/* Sets how deep the sampled stack is, and whether there is another. */
static void measure(const struct walk *walk)
{
	const size_t nr_own = walk->nr_own ? walk->nr_own : walk->walked->nr;
	const size_t nr_joined = walk->nr_own ? 0 : joined_of_own(walk);
	uint64_t sp = nr_joined ? walk->joined->frames.at[walk->nr_kept - nr_joined].sp
				: walk->walked->at[nr_own - 1].sp;

	walk->stack->depth = sp > walk->words.sp ? sp - walk->words.sp : 0;
	walk->stack->has_other = walk->nr_own || nr_joined < walk->nr_kept;
}

/* Or nearly so: the next one may not fit the copy. */
static bool is_deep(const struct walk *walk)
{
	return walk->stack->origins & 1U << STACK_BY_MEMORY ||
	       walk->stack->depth > walk->words.size / 2;
}

static void remember(const struct walk *walk)
{
	const uint32_t origins = walk->stack->origins;
	struct remembered_stack *stack;

	if (!walk->thread || !unwind_end_is_root(walk->stack->end) ||
	    origins & 1U << STACK_BY_CHAIN || walk->nr_kept)
		return;
	stack = remembered_place(walk->thread, is_deep(walk));
	remembered_put(stack, walk->walked);
	stack->end = walk->stack->end;
	stack->end_module = walk->stack->end_module;
}

static void finish(struct walk *walk)
{
	struct stack *stack = walk->stack;

	if (!walk->words.size &&
	    (stack->end == UNWIND_END_BAD_READ || stack->end == UNWIND_END_NO_MODULE))
		stack->end = UNWIND_END_NO_STACK;
	put_stack(walk);
	measure(walk);
	remember(walk);
}

void stacks_walk(struct stacks *stacks, const struct space *space,
		 const struct stack_sample *sample, struct stack *stack)
{
	const struct stack_registers *registers = sample->registers;
	struct walk walk = {
		.rules = &stacks->rules,
		.walked = &stacks->walked,
		.space = space,
		.sample = sample,
		.words = { .bytes = sample->bytes,
			   .size = sample->nr_bytes,
			   .sp = registers->sp,
			   .window = stacks->window },
		.frame = { .pc = registers->pc,
			   .sp = registers->sp,
			   .fp = registers->fp,
			   .exact = true },
		.stack = stack,
	};

	if (sample->thread)
		walk.thread = remembered_of(&stacks->remembered, sample->thread);
	stacks->walked.nr = 0;
	stack->unsupported = 0;
	stack->origins = 0;
	walk_on(&walk);
	if (stack->end == UNWIND_END_BAD_READ)
		walk_beyond(&walk);
	finish(&walk);
	stacks->last.thread = sample->thread;
	stacks->last.sp = registers->sp;
	stacks->last.return_at = walk.return_at;
	stacks->last.nr_own = walk.nr_own;
	stacks->walks++;
	stacks->frames += stack->nr + stack->elided;
}

/* --- again, later ---------------------------------------------------------------------- */

struct unfinished *stacks_keep(const struct stacks *stacks, const struct stack *stack)
{
	struct unfinished *unfinished;

	if (!stacks->last.thread || !stacks->last.return_at)
		return NULL;
	unfinished = xmalloc(sizeof(*unfinished));
	*unfinished = (struct unfinished){ .thread = stacks->last.thread,
					   .sp = stacks->last.sp,
					   .return_at = stacks->last.return_at,
					   .nr_own = stacks->last.nr_own,
					   .origins = stack->origins,
					   .end = stack->end,
					   .end_module = stack->end_module };
	for (size_t i = 0; i < stacks->walked.nr; i++)
		vec_push(&unfinished->walked, stacks->walked.at[i]);
	return unfinished;
}

static struct walk walk_of(struct stacks *stacks, struct unfinished *unfinished,
			   struct stack *stack)
{
	stack->origins = unfinished->origins;
	stack->end = unfinished->end;
	stack->end_module = unfinished->end_module;
	stack->unsupported = 0;
	return (struct walk){
		.rules = &stacks->rules,
		.walked = &unfinished->walked,
		.words = { .sp = unfinished->sp },
		.nr_own = unfinished->nr_own,
		.thread = remembered_known(&stacks->remembered, unfinished->thread),
		.stack = stack,
	};
}

bool stacks_retry(struct stacks *stacks, struct unfinished *unfinished, struct stack *stack)
{
	struct walk walk = walk_of(stacks, unfinished, stack);

	if (!joint_find(&walk, unfinished->return_at))
		return false;
	put_stack(&walk);
	measure(&walk);
	return true;
}

void stacks_give_up(struct stacks *stacks, struct unfinished *unfinished, struct stack *stack)
{
	struct walk walk = walk_of(stacks, unfinished, stack);

	put_stack(&walk);
	measure(&walk);
}

void stacks_forget(struct unfinished *unfinished)
{
	if (!unfinished)
		return;
	vec_free(&unfinished->walked);
	free(unfinished);
}
