/* SPDX-License-Identifier: MIT */
#include "record/stacks/walk.h"

#include "arch/arch.h"
#include "record/stacks/along.h"
#include "record/stacks/joint.h"

enum {
	ALONG_EVERY = 64, /* frames; most stacks have fewer */
};

/* Of where there is CFI, that says where the kernel saved the registers. */
static bool is_sigreturn(struct walk *walk, const struct stack_frame *frame)
{
	return !ARCH_RETURN_IS_PUSHED && frame->module->kind == MODULE_VDSO &&
	       rules_is_sigreturn(walk->rules, frame->module, frame->address);
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

	struct unwind_place place =
		rules_register(walk->rules, inner->frame.module, inner->frame.address, reg);
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

/*
 * What a register holds in the frame that was added last, from the leaf's on.  One that was lost on
 * the way, as in functions of the vDSO without CFI, is known again where a signal interrupted.
 */
static bool find_register(struct walk *walk, unsigned int reg, uint64_t *value)
{
	const struct walked *inner = walk->walked->at, *last = inner + walk->walked->nr - 1;
	bool is_known = true;

	if (!walk->sample->registers->has_general)
		return false;
	*value = walk->sample->registers->general[reg];
	for (; inner < last; inner++)
		is_known = (is_known || is_sigreturn(walk, &inner->frame)) &&
			   restore_register(walk, inner, reg, value);
	return is_known;
}

/* The rule needs a register that is not carried along: that is rare. */
static enum unwind_end step_by_register(struct walk *walk, unwind_rule rule, bool is_link)
{
	uint64_t value;

	walk->stack->unsupported = is_link ? UNWIND_RETURN_ADDRESS : UNWIND_CFA_REGISTER;
	if ((is_link && !walk->frame.exact) || /* it made a call, which took the register */
	    !find_register(walk, is_link ? unwind_rule_link(rule) : unwind_rule_register(rule),
			   &value))
		return UNWIND_END_UNSUPPORTED;
	if (is_link)
		return unwind_step_link(&walk->frame, rule, value, words_read, &walk->words);
	value += (uint64_t)((int64_t)ARCH_WORD * unwind_rule_register_distance(rule));
	return unwind_step_to(&walk->frame, rule, value, words_read, &walk->words);
}

/* To what a signal interrupted. */
static enum unwind_end step_out_of_signal(struct walk *walk, unwind_rule rule)
{
	const uint64_t sp = walk->frame.sp;
	enum unwind_end end = unwind_step_signal(&walk->frame, rule, words_read, &walk->words);

	if (!end && !walk->nr_own && walk_is_other_stack(sp, walk->frame.sp))
		walk->nr_own = walk->walked->nr;
	return end;
}

/* What a sample goes through for each of its frames is one piece of code. */
#define HOT static inline __attribute__((always_inline))

/* From the frame that was added last to its caller. */
HOT enum unwind_end step(struct walk *walk)
{
	unwind_rule rule = walk->rule;

	walk->origin = walk->words.goes_beyond ? STACK_BY_MEMORY : STACK_BY_CFI;
	walk->sp_read = false;
	switch (unwind_rule_kind(rule)) {
	case UNWIND_RULE_REGISTER:
	case UNWIND_RULE_PROBE:
		walk->sp_read = true;
		return step_by_register(walk, rule, false);
	case UNWIND_RULE_AT_SP:
	case UNWIND_RULE_AT_FP:
		walk->sp_read = true;
		break;
	case UNWIND_RULE_LINK:
		return step_by_register(walk, rule, true);
	case UNWIND_RULE_SIGNAL:
		return step_out_of_signal(walk, rule);
	case UNWIND_RULE_UNSUPPORTED:
		walk->stack->unsupported = (enum unwind_unsupported)unwind_rule_operand(rule);
		break;
	case UNWIND_RULE_NONE:
		if (!walk->words.goes_beyond)
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

/* By its code: nobody called it, and during its system call pc is behind that. */
static bool find_sigreturn(struct walk *walk, const struct mapping *mapping,
			   struct stack_frame *frame)
{
	uint64_t address = mapping_address(mapping, frame->pc);

	if (walk->frame.exact && !rules_is_sigreturn(walk->rules, mapping->module, address))
		address--;
	if (!rules_is_sigreturn(walk->rules, mapping->module, address))
		return false;
	frame->address = address;
	return true;
}

/*
 * Where calls leave the return address in a register the vDSO has no CFI.  Its functions call
 * nothing, so that it is still there.
 */
static unwind_rule rule_of_vdso(struct walk *walk)
{
	uint64_t link;

	if (!walk->frame.exact || !find_register(walk, ARCH_DWARF_RETURN, &link) ||
	    has_record(walk, link))
		return unwind_rule_make(UNWIND_RULE_NONE, 0, UNWIND_FP_SAME);
	return unwind_rule_make(UNWIND_RULE_LINK, 0, UNWIND_FP_SAME);
}

/* What is known without CFI of the function that runs. */
static unwind_rule rule_without_cfi(struct walk *walk, const struct module *module,
				    uint64_t address)
{
	const unwind_rule just_entered = unwind_rule_make(UNWIND_RULE_SP, 1, UNWIND_FP_SAME);
	uint64_t result;

	if (!ARCH_RETURN_IS_PUSHED)
		return unwind_rule_make(UNWIND_RULE_NONE, 0, UNWIND_FP_SAME);
	/* Where pages of a library are touched first: _init(), entries of a PLT. */
	if (rules_is_entry(walk->rules, module, address))
		return just_entered;
	if (walk->walked->nr == 1 && rules_is_after_clone(walk->rules, module, address) &&
	    find_register(walk, ARCH_DWARF_RESULT, &result))
		return result ? just_entered
			      : unwind_rule_make(UNWIND_RULE_ROOT, 0, UNWIND_FP_SAME);
	return unwind_rule_make(UNWIND_RULE_NONE, 0, UNWIND_FP_SAME);
}

/*
 * The rule for the frame, whose address is corrected for the trampoline of a signal handler: nobody
 * called it, and while it is in its system call, pc is behind its last instruction.
 */
HOT unwind_rule find_rule(struct walk *walk, const struct mapping *mapping,
			  struct stack_frame *frame)
{
	struct rules *rules = walk->rules;
	unwind_rule rule = rules_at(rules, mapping->module, frame->address);

	if (!ARCH_RETURN_IS_PUSHED && unwind_rule_kind(rule) == UNWIND_RULE_NONE &&
	    mapping->module->kind == MODULE_VDSO)
		return find_sigreturn(walk, mapping, frame)
			       ? unwind_rule_make(UNWIND_RULE_SIGNAL, ARCH_SIGNAL_SP_WORDS,
						  UNWIND_FP_SAME)
			       : rule_of_vdso(walk);
	if (unwind_rule_kind(rule) == UNWIND_RULE_SIGNAL) {
		frame->address = mapping_address(mapping, frame->pc);
	} else if (unwind_rule_kind(rule) == UNWIND_RULE_NONE && walk->frame.exact) {
		unwind_rule before = rules_at(rules, mapping->module, frame->address - 1);

		if (unwind_rule_kind(before) == UNWIND_RULE_SIGNAL) {
			frame->address--;
			return before;
		}
		return rule_without_cfi(walk, mapping->module, frame->address);
	} else if (unwind_rule_kind(rule) == UNWIND_RULE_NONE) {
		return unwind_rule_in_gap(rules_at(rules, mapping->module, frame->address + 1));
	}
	return rule;
}

HOT struct stack_frame *add_frame(struct walk *walk, const struct mapping *mapping, uint64_t lookup)
{
	struct walked_vec *walked = walk->walked;

	vec_push(walked,
		 (struct walked){
			 .frame = { .module = mapping ? mapping->module : NULL,
				    .address = mapping ? mapping_address(mapping, lookup) : lookup,
				    .pc = walk->frame.pc,
				    .origin = walk->origin },
			 .sp = walk->frame.sp,
			 .fp = walk->frame.fp,
			 .return_at = walk->frame.pc_at,
			 .fp_at = walk->frame.fp_at,
			 .fp_lost = walk->frame.fp_lost,
			 .sp_lost = walk->frame.sp_lost,
			 .sp_read = walk->sp_read,
		 });
	walk->stack->origins |= 1U << walk->origin;
	return &vec_last(walked)->frame;
}

HOT enum unwind_end add(struct walk *walk)
{
	uint64_t lookup = unwind_lookup_pc(&walk->frame);
	const struct mapping *mapping = walk_mapping(walk, lookup);
	struct stack_frame *added;

	if (!mapping && walk->walked->nr)
		return UNWIND_END_NO_MODULE;
	added = add_frame(walk, mapping, lookup);
	if (!mapping)
		return UNWIND_END_NO_MODULE;
	walk->stack->end_module = mapping->module;
	walk->rule = find_rule(walk, mapping, added);
	return UNWIND_MORE;
}

enum unwind_end walk_add(struct walk *walk)
{
	return add(walk);
}

enum unwind_end walk_step(struct walk *walk)
{
	return step(walk);
}

/* Adds the frame and steps to its caller. */
HOT enum unwind_end walk_frame(struct walk *walk)
{
	enum unwind_end end = add(walk);

	if (!end)
		return step(walk);
	walk->stack->end_module = NULL;
	return end;
}

/* A very deep stack is not read anew with each sample. */
static bool has_read_enough(struct walk *walk)
{
	if (walk->stack->end || walk->words.nr_windows < 2 ||
	    walk->words.nr_windows == walk->nr_windows)
		return false;
	walk->nr_windows = walk->words.nr_windows;
	return joint_find(walk, walk->frame.pc_at);
}

void walk_on(struct walk *walk)
{
	struct stack *stack = walk->stack;

	do {
		stack->end = walk_frame(walk);
		if (!stack->end && walk->thread && walk->walked->nr % ALONG_EVERY == 0)
			walk_along(walk);
		if (has_read_enough(walk))
			return;
	} while (!stack->end && walk->walked->nr < WALK_STEPS_MAX);
	if (!stack->end)
		stack->end = UNWIND_END_TOO_DEEP;
}
