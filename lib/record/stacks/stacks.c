/* SPDX-License-Identifier: MIT */
#include "record/stacks/stacks.h"

#include <string.h>

#include "arch/perf_regs.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/stacks/remembered.h"
#include "record/stacks/rules.h"
#include "unwind/step.h"

enum {
	LEAF_FRAMES = STACK_FRAMES_MAX / 2, /* of a stack too deep; the rest is the root's side */
	ROOT_FRAMES = STACK_FRAMES_MAX - LEAF_FRAMES,
	STEPS_MAX = 1 << 14,
};

struct stacks {
	struct rules rules;
	struct remembered remembered;
	struct walked_vec walked;    /* of the walk at hand, leaf first */
	struct words_window *window; /* likewise */
	uint64_t walks, frames;
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
	struct rules_figures figures = stacks->rules.figures;

	return (struct stacks_figures){ .walks = stacks->walks,
					.frames = stacks->frames,
					.evaluated = figures.evaluated,
					.row_bytes = figures.row_bytes };
}

/* --- the walk ----------------------------------------------------------------------- */

struct walk {
	struct stacks *stacks;
	const struct space *space;
	const struct stack_sample *sample;
	struct words words;
	struct unwind_frame frame;
	const struct mapping *mapping;	       /* of the frame before, or NULL */
	enum stack_origin origin;	       /* of the frame */
	unwind_rule rule;		       /* for the frame added last */
	size_t nr_windows;		       /* when the remembered stack was last looked at */
	struct remembered_thread *thread;      /* NULL: not known */
	const struct remembered_stack *joined; /* one of its stacks; NULL: none */
	size_t nr_kept; /* first frames of that, which are the outermost here */
	struct stack *stack;
};

/* Callers are often in the same mapping. */
static const struct mapping *find_mapping(struct walk *walk, uint64_t pc)
{
	const struct mapping *last = walk->mapping;

	if (!last || pc < last->start || pc >= last->end)
		walk->mapping = space_find(walk->space, pc);
	return walk->mapping;
}

/* Of where there is CFI, that says where the kernel saved the registers. */
static bool is_sigreturn(struct walk *walk, const struct stack_frame *frame)
{
	return !ARCH_RETURN_IS_PUSHED && frame->module->kind == MODULE_VDSO &&
	       rules_is_sigreturn(&walk->stacks->rules, frame->module, frame->address);
}

/* The numbered ones are in their order, sp behind them. */
static uint64_t interrupted_register(uint64_t sp, unsigned int reg)
{
	return sp + ARCH_WORD * (uint64_t)(ARCH_SIGNAL_SP_WORDS - ARCH_DWARF_SP + (int)reg);
}

/*
 * The value that a register of the frame outside `inner` had, given the one it had in `inner`: most
 * functions leave it alone or have saved it on the stack.
 */
static bool restore_register(struct walk *walk, const struct walked *inner, unsigned int reg,
			     uint64_t *value)
{
	if (is_sigreturn(walk, &inner->frame))
		return words_read(&walk->words, interrupted_register(inner->sp, reg), value);

	struct unwind_place place = rules_register(&walk->stacks->rules, inner->frame.module,
						   inner->frame.address, reg);
	uint64_t sp = inner->sp, fp = inner->fp, cfa = inner[1].sp;
	uint64_t offset = (uint64_t)(int64_t)place.offset;

	switch (place.kind) {
	case UNWIND_PLACE_SAME:
		return true;
	case UNWIND_PLACE_CFA: /* below sp it was popped already */
		return words_read(&walk->words, cfa + offset, value) || cfa + offset < sp;
	case UNWIND_PLACE_SP:
		return words_read(&walk->words, sp + offset, value);
	case UNWIND_PLACE_FP: /* likewise above the frame */
		return fp >= cfa || words_read(&walk->words, fp + offset, value);
	default:
		return false;
	}
}

/* What a register holds in the frame that was added last, from the leaf's on. */
static bool find_register(struct walk *walk, unsigned int reg, uint64_t *value)
{
	const struct walked_vec *walked = &walk->stacks->walked;

	if (!walk->sample->registers->has_general)
		return false;
	*value = walk->sample->registers->general[reg];
	for (size_t inner = 0; inner + 1 < walked->nr; inner++)
		if (!restore_register(walk, &walked->at[inner], reg, value))
			return false;
	return true;
}

/* The rule needs a register that is not carried along: that is rare. */
static enum unwind_end step_by_register(struct walk *walk, unwind_rule rule, bool is_link)
{
	uint64_t value;

	walk->stack->unsupported = is_link ? UNWIND_RETURN_ADDRESS : UNWIND_CFA_REGISTER;
	if ((is_link && !walk->frame.exact) || /* it made a call, which took the register */
	    !find_register(walk, is_link ? unwind_rule_link(rule) : unwind_rule_small(rule),
			   &value))
		return UNWIND_END_UNSUPPORTED;
	if (is_link)
		return unwind_step_link(&walk->frame, rule, value, words_read, &walk->words);
	value += (uint64_t)((int64_t)ARCH_WORD * unwind_rule_offset(rule));
	return unwind_step_to(&walk->frame, rule, value, words_read, &walk->words);
}

/* What a sample goes through for each of its frames is one piece of code. */
#define HOT static inline __attribute__((always_inline))

/* From the frame that was added last to its caller. */
HOT enum unwind_end step(struct walk *walk)
{
	unwind_rule rule = walk->rule;

	walk->origin = walk->words.memory ? STACK_BY_MEMORY : STACK_BY_CFI;
	switch (unwind_rule_kind(rule)) {
	case UNWIND_RULE_REGISTER:
		return step_by_register(walk, rule, false);
	case UNWIND_RULE_LINK:
		return step_by_register(walk, rule, true);
	case UNWIND_RULE_UNSUPPORTED:
		walk->stack->unsupported = (enum unwind_unsupported)unwind_rule_operand(rule);
		break;
	case UNWIND_RULE_NONE:
		if (!walk->words.memory)
			walk->origin = STACK_BY_FP;
		break;
	default:
		break;
	}
	return unwind_step(&walk->frame, unwind_rule_or_chain(rule), words_read, &walk->words);
}

/* Whether fp points to the record of the function that runs, not to that of its caller. */
static bool has_record(struct walk *walk, uint64_t link)
{
	uint64_t word;

	return words_read(&walk->words, walk->frame.fp + ARCH_WORD, &word) && word == link;
}

/*
 * Where calls leave the return address in a register the vDSO has no CFI.  Its functions call
 * nothing, so that it is still there; and what signal handlers return to can be told by its code.
 */
static unwind_rule rule_of_vdso(struct walk *walk, const struct mapping *mapping,
				const struct stack_frame *frame)
{
	uint64_t address = mapping_address(mapping, frame->pc), link;

	if (rules_is_sigreturn(&walk->stacks->rules, mapping->module, address))
		return unwind_rule_make(UNWIND_RULE_SIGNAL, ARCH_SIGNAL_SP_WORDS, UNWIND_FP_SAME);
	if (!walk->frame.exact || !find_register(walk, ARCH_DWARF_RETURN, &link) ||
	    has_record(walk, link))
		return unwind_rule_make(UNWIND_RULE_NONE, 0, UNWIND_FP_SAME);
	return unwind_rule_make(UNWIND_RULE_LINK, 0, UNWIND_FP_SAME);
}

/*
 * The rule for the frame, whose address is corrected for the trampoline of a signal handler: nobody
 * called it, and while it is in its system call, pc is behind its last instruction.
 */
HOT unwind_rule find_rule(struct walk *walk, const struct mapping *mapping,
			  struct stack_frame *frame)
{
	struct rules *rules = &walk->stacks->rules;
	unwind_rule rule = rules_at(rules, mapping->module, frame->address);

	if (!ARCH_RETURN_IS_PUSHED && unwind_rule_kind(rule) == UNWIND_RULE_NONE &&
	    mapping->module->kind == MODULE_VDSO)
		rule = rule_of_vdso(walk, mapping, frame);
	if (unwind_rule_kind(rule) == UNWIND_RULE_SIGNAL) {
		frame->address = mapping_address(mapping, frame->pc);
	} else if (unwind_rule_kind(rule) == UNWIND_RULE_NONE && walk->frame.exact) {
		unwind_rule before = rules_at(rules, mapping->module, frame->address - 1);

		if (unwind_rule_kind(before) == UNWIND_RULE_SIGNAL) {
			frame->address--;
			return before;
		}
	}
	return rule;
}

HOT struct stack_frame *add_frame(struct walk *walk, const struct mapping *mapping, uint64_t lookup)
{
	struct walked_vec *walked = &walk->stacks->walked;

	vec_push(walked,
		 (struct walked){
			 .frame = { .module = mapping ? mapping->module : NULL,
				    .address = mapping ? mapping_address(mapping, lookup) : lookup,
				    .pc = walk->frame.pc,
				    .origin = walk->origin },
			 .sp = walk->frame.sp,
			 .fp = walk->frame.fp,
		 });
	walk->stack->origins |= 1U << walk->origin;
	return &vec_last(walked)->frame;
}

/* Adds the frame and steps to its caller. */
HOT enum unwind_end walk_frame(struct walk *walk)
{
	uint64_t lookup = unwind_lookup_pc(&walk->frame);
	const struct mapping *mapping = find_mapping(walk, lookup);
	struct stack_frame *added;

	walk->stack->end_module = mapping ? mapping->module : NULL;
	if (!mapping && walk->stacks->walked.nr)
		return UNWIND_END_NO_MODULE;
	added = add_frame(walk, mapping, lookup);
	if (!mapping)
		return UNWIND_END_NO_MODULE;
	walk->rule = find_rule(walk, mapping, added);
	return step(walk);
}

/* --- beyond the copy ------------------------------------------------------------------ */

static bool is_same_function(struct walk *walk, const struct stack_frame *one,
			     const struct stack_frame *other)
{
	struct rules *rules = &walk->stacks->rules;
	uint64_t function;

	if (one->module != other->module || !one->module)
		return false;
	if (one->pc == other->pc)
		return true;
	function = rules_function(rules, one->module, one->address);
	return function && function == rules_function(rules, other->module, other->address);
}

/* Where the frame that was added last is in the stack, which is not its root; 0: nowhere. */
static size_t find_in(struct walk *walk, const struct remembered_stack *stack)
{
	const struct walked *frame = vec_last(&walk->stacks->walked);
	ptrdiff_t at = remembered_find(stack, frame->sp);

	if (at < 0 || !is_same_function(walk, &frame->frame, &stack->frames.at[at].frame))
		return 0;
	return (size_t)at;
}

/* Up to the root. */
static bool have_same_callers(const struct remembered_stack *one,
			      const struct remembered_stack *other, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (one->frames.at[i].frame.pc != other->frames.at[i].frame.pc ||
		    one->frames.at[i].sp != other->frames.at[i].sp)
			return false;
	return true;
}

/*
 * A frame at the same place of the stack and in the same function as one of a whole stack before:
 * its callers are the same, unless stacks do not agree on that.
 */
static bool join_remembered(struct walk *walk)
{
	const struct remembered_stack *joined = NULL;
	size_t kept = 0;

	for (size_t i = 0; walk->thread && i < REMEMBERED_STACKS; i++) {
		const struct remembered_stack *stack = &walk->thread->stacks[i];
		size_t at = find_in(walk, stack);

		if (!at)
			continue;
		if (joined && (at != kept || !have_same_callers(joined, stack, at)))
			return false;
		joined = stack;
		kept = at;
	}
	if (!joined)
		return false;
	walk->joined = joined;
	walk->nr_kept = kept;
	walk->stack->origins |= 1U << STACK_BY_LAST;
	walk->stack->end = joined->end;
	walk->stack->end_module = joined->end_module;
	return true;
}

/* A very deep stack is not read anew with each sample. */
static bool has_read_enough(struct walk *walk)
{
	if (walk->words.nr_windows < 2 || walk->words.nr_windows == walk->nr_windows)
		return false;
	walk->nr_windows = walk->words.nr_windows;
	return join_remembered(walk);
}

HOT void walk_on(struct walk *walk)
{
	struct stack *stack = walk->stack;

	do {
		stack->end = walk_frame(walk);
		if (has_read_enough(walk))
			return;
	} while (!stack->end && walk->stacks->walked.nr < STEPS_MAX);
	if (!stack->end)
		stack->end = UNWIND_END_TOO_DEEP;
}

/* Of frames from the first one on: which functions they are of, and where. */
static uint64_t hash_callers(struct walk *walk, size_t first)
{
	const struct walked_vec *walked = &walk->stacks->walked;
	uint64_t hash = 0;

	for (size_t i = first; i < walked->nr; i++) {
		const struct stack_frame *frame = &walked->at[i].frame;
		uint64_t function =
			rules_function(&walk->stacks->rules, frame->module, frame->address);

		hash = map_hash(hash ^
				(function ? frame->pc - frame->address + function : frame->pc)) ^
		       walked->at[i].sp;
	}
	return hash;
}

/* Of the frame at the copy's end, which was the nr-th. */
static bool has_usual_callers(struct walk *walk, size_t nr)
{
	const struct walked *last = &walk->stacks->walked.at[nr - 1];
	uint64_t function =
		rules_function(&walk->stacks->rules, last->frame.module, last->frame.address);

	return walk->thread && function && !walk->nr_kept &&
	       remembered_callers(walk->thread, &(struct remembered_frame){
							.module = last->frame.module,
							.function = function,
							.sp = last->sp,
							.callers = hash_callers(walk, nr),
						});
}

/* Whether what was read is the stack of the sample. */
static bool is_believed(struct walk *walk, size_t nr)
{
	bool is_usual = has_usual_callers(walk, nr);

	return words_held(&walk->words) || is_usual;
}

/* By the program's memory: false, and back at the copy's end, if that is another stack by now. */
static bool walk_memory(struct walk *walk)
{
	const struct unwind_frame frame = walk->frame;
	const struct module *end_module = walk->stack->end_module;
	size_t nr = walk->stacks->walked.nr;

	words_open(&walk->words, walk->sample->memory);
	walk->stack->end = step(walk);
	if (!walk->stack->end)
		walk_on(walk);
	if (unwind_end_is_root(walk->stack->end) && is_believed(walk, nr))
		return true;

	walk->stacks->walked.nr = nr;
	walk->frame = frame;
	walk->words.memory = NULL;
	walk->nr_kept = 0;
	walk->joined = NULL;
	walk->stack->origins &= ~(1U << STACK_BY_MEMORY | 1U << STACK_BY_LAST);
	walk->stack->end_module = end_module;
	walk->stack->end = UNWIND_END_BAD_READ;
	return false;
}

/* How far chain[i] is from being walked[i], where they agree at the end of the walk. */
static bool align_chain(const struct walk *walk, ptrdiff_t *shift)
{
	static const ptrdiff_t shifts[] = { 0, -1, 1 }; /* a chain may skip the leaf's caller */
	const struct walked_vec *walked = &walk->stacks->walked;
	ptrdiff_t last = (ptrdiff_t)walked->nr - 1, nr = (ptrdiff_t)walk->sample->nr_chain;

	for (size_t i = 0; i < ARRAY_SIZE(shifts); i++) {
		*shift = shifts[i];
		if (last >= 2 && last + *shift < nr &&
		    walk->sample->chain[last + *shift] == walked->at[last].frame.pc &&
		    walk->sample->chain[last + *shift - 1] == walked->at[last - 1].frame.pc)
			return true;
	}
	return false;
}

/* Whether the frame added last keeps its frame pointer where the kernel looks for it. */
static bool is_in_chain(const struct walk *walk)
{
	return unwind_rule_kind(walk->rule) == UNWIND_RULE_NONE ||
	       (unwind_rule_kind(walk->rule) == UNWIND_RULE_FP &&
		unwind_rule_operand(walk->rule) == 2 && unwind_rule_fp(walk->rule) == 2);
}

/* By the kernel's frame pointers: return addresses without registers. */
static void walk_chain(struct walk *walk)
{
	struct walked_vec *walked = &walk->stacks->walked;
	ptrdiff_t shift;

	if (!align_chain(walk, &shift))
		return;
	walk->origin = STACK_BY_CHAIN;
	for (size_t i = walked->nr + (size_t)shift; i < walk->sample->nr_chain && is_in_chain(walk);
	     i++) {
		uint64_t pc = walk->sample->chain[i];
		const struct mapping *mapping = find_mapping(walk, pc - 1);

		if (!mapping)
			return;
		walk->frame = (struct unwind_frame){ .pc = pc };
		struct stack_frame *added = add_frame(walk, mapping, pc - 1);
		walk->stack->end_module = mapping->module;
		walk->rule = find_rule(walk, mapping, added);
	}
	if (unwind_rule_kind(walk->rule) == UNWIND_RULE_ROOT)
		walk->stack->end = UNWIND_END_ROOT;
}

static void go_beyond(struct walk *walk)
{
	if (walk->sample->memory && walk_memory(walk))
		return;
	if (!join_remembered(walk))
		walk_chain(walk);
}

/* --- the result ------------------------------------------------------------------------ */

/* Of all frames, the leaf's first, those of the walk come before those that are remembered. */
static void put_frames(const struct walk *walk, size_t to, size_t from, size_t nr)
{
	const struct walked_vec *walked = &walk->stacks->walked;
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
	size_t nr = walk->stacks->walked.nr + walk->nr_kept;

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

static uint64_t depth(const struct walk *walk)
{
	const struct walked *outermost =
		walk->nr_kept ? &walk->joined->frames.at[0] : vec_last(&walk->stacks->walked);

	return outermost->sp > walk->words.sp ? outermost->sp - walk->words.sp : 0;
}

/* Or nearly so: the next one may not fit the copy. */
static bool is_deep(const struct walk *walk)
{
	return walk->stack->origins & 1U << STACK_BY_MEMORY || depth(walk) > walk->words.size / 2;
}

static void remember(const struct walk *walk)
{
	const uint32_t origins = walk->stack->origins;
	struct remembered_stack *stack;

	if (!walk->thread || !unwind_end_is_root(walk->stack->end) ||
	    origins & 1U << STACK_BY_CHAIN || walk->nr_kept)
		return;
	stack = remembered_place(walk->thread, is_deep(walk));
	remembered_put(stack, &walk->stacks->walked);
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
	stack->depth = depth(walk);
	remember(walk);
	walk->stacks->walks++;
	walk->stacks->frames += stack->nr + stack->elided;
}

void stacks_walk(struct stacks *stacks, const struct space *space,
		 const struct stack_sample *sample, struct stack *stack)
{
	const struct stack_registers *registers = sample->registers;
	struct walk walk = {
		.stacks = stacks,
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
	if (stack->end == UNWIND_END_BAD_READ && sample->nr_bytes)
		go_beyond(&walk);
	finish(&walk);
}
