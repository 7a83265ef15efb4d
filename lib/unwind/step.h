/* SPDX-License-Identifier: MIT */
/*
 * step - from a frame to its caller, by a rule.
 *
 *	struct unwind_frame frame = { .pc = ip, .sp = sp, .fp = bp, .exact = true };
 *	enum unwind_end end;
 *
 *	do {
 *		use(frame.pc);
 *		rule = find_rule(unwind_lookup_pc(&frame));
 *	} while (!(end = unwind_step(&frame, rule, read_word, stack)));
 *
 * Pure: it knows frames, a rule and a way to read a word of the stack, nothing of files, caches or
 * processes.  The reader should be a constant, so that all of it inlines.  It alone decides which
 * addresses may be read and has to check every one: rules and stacks may be hostile.
 *
 * The stack pointer grows with each step (but out of a signal frame, which may sit on a stack of
 * its own), so a walk ends; whoever loops still caps the depth.  A frame that is left as it was
 * comes back with every end but UNWIND_MORE.
 */
#ifndef UNWIND_STEP_H
#define UNWIND_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "unwind/end.h"
#include "unwind/rule.h"

struct unwind_frame {
	uint64_t pc, sp, fp;
	uint64_t pc_at; /* where pc was read, of a frame that made a call */
	uint64_t fp_at; /* likewise fp; 0: it is that of the frame inside */
	uint64_t link;	/* of a frame that a signal interrupted: the register that calls leave the
			   return address in; 0: unknown */
	bool exact;	/* pc is where the thread was, not a return address */
	bool fp_lost;	/* fp holds nothing of use */
	bool sp_lost;	/* nor does sp, which is further up; where calls push the return address it
			 is always known */
};

/* Sets *word to the 8 bytes at address; false if they are not known to be stack. */
typedef bool unwind_read(void *arg, uint64_t address, uint64_t *word);

/*
 * The address to look things up by.  A return address may already be past the end of the function,
 * and is past the line, that made the call.
 */
static inline uint64_t unwind_lookup_pc(const struct unwind_frame *frame)
{
	return frame->exact ? frame->pc : frame->pc - 1;
}

/*
 * The caller's frame pointer, for a frame whose CFA is known.  CFI is lax after the pop that
 * restores it: a slot that is not in the frame any more means that the register has it again.  (A
 * slot below sp may also be in the red zone, where it can be read.)
 */
static inline __attribute__((always_inline)) bool
unwind_restore_fp(const struct unwind_frame *frame, unwind_rule rule, uint64_t cfa,
		  struct unwind_frame *caller, unwind_read *read, void *arg)
{
	uint32_t slot = unwind_rule_fp(rule);
	uint64_t address = cfa - ARCH_WORD * unwind_rule_fp_depth(rule);

	caller->fp = frame->fp;
	caller->fp_lost = frame->fp_lost | (slot == UNWIND_FP_LOST);
	if (slot == UNWIND_FP_AT_FP)
		address = frame->fp;
	if (slot == UNWIND_FP_SAME || slot == UNWIND_FP_LOST || address >= cfa)
		return true;

	if (!read(arg, address, &caller->fp))
		return address < frame->sp;
	caller->fp_at = address;
	caller->fp_lost = false;
	return true;
}

/* An address of code without what authenticates it. */
static inline uint64_t unwind_code(uint64_t pc)
{
	return ARCH_CODE_BITS < 64 ? pc & ((UINT64_C(1) << (ARCH_CODE_BITS & 63)) - 1) : pc;
}

/* Where the return address is saved. */
static inline uint64_t unwind_return_at(const struct unwind_frame *frame, unwind_rule rule,
					uint64_t cfa)
{
	uint64_t slot = unwind_rule_fp(rule), words = unwind_rule_small(rule);

	if (ARCH_RETURN_IS_PUSHED)
		return cfa + ARCH_RETURN_AT_CFA;
	if (unwind_rule_returns(rule, UNWIND_RETURN_NEAR))
		return cfa - ARCH_WORD * ((uint64_t)unwind_rule_distance(rule) -
					  unwind_rule_near_words(rule));
	if (words == UNWIND_RETURN_ALONE)
		return cfa - ARCH_WORD * (uint64_t)unwind_rule_slot(rule);
	if (words != UNWIND_RETURN_BY_FP)
		return cfa - ARCH_WORD * words;
	return (slot == UNWIND_FP_AT_FP ? frame->fp : cfa - ARCH_WORD * slot) + ARCH_WORD;
}

/*
 * To the caller, given the CFA.  For whoever knows it by other means: a UNWIND_RULE_REGISTER, by
 * having kept that register.
 */
static inline __attribute__((always_inline)) enum unwind_end
unwind_step_to(struct unwind_frame *frame, unwind_rule rule, uint64_t cfa, unwind_read *read,
	       void *arg)
{
	struct unwind_frame caller = { .sp = cfa, .pc_at = unwind_return_at(frame, rule, cfa) };

	if (cfa <= frame->sp)
		return UNWIND_END_SP_BACKWARD;
	if (!read(arg, caller.pc_at, &caller.pc))
		return UNWIND_END_BAD_READ;
	caller.pc = unwind_code(caller.pc);
	if (!unwind_restore_fp(frame, rule, cfa, &caller, read, arg))
		return UNWIND_END_BAD_READ;
	if (!caller.pc)
		return UNWIND_END_NULL_PC;
	*frame = caller;
	return UNWIND_MORE;
}

/*
 * To the caller, given the return address.  For whoever knows the register of a UNWIND_RULE_LINK:
 * vfork() keeps it out of the memory that it shares with its child.
 */
static inline enum unwind_end unwind_step_link(struct unwind_frame *frame, unwind_rule rule,
					       uint64_t return_address, unwind_read *read,
					       void *arg)
{
	int64_t offset = (int64_t)ARCH_WORD * unwind_rule_link_distance(rule);
	struct unwind_frame caller = { .pc = unwind_code(return_address),
				       .sp = frame->sp + (uint64_t)offset };

	if (offset < 0)
		return UNWIND_END_SP_BACKWARD;
	if (!unwind_restore_fp(frame, rule, caller.sp, &caller, read, arg))
		return UNWIND_END_BAD_READ;
	if (!caller.pc)
		return UNWIND_END_NULL_PC;
	*frame = caller;
	return UNWIND_MORE;
}

/* The CFA was saved on the stack, as functions that align their frame do. */
static inline enum unwind_end unwind_step_at(struct unwind_frame *frame, unwind_rule rule,
					     uint64_t base, unwind_read *read, void *arg)
{
	uint64_t cfa;

	if (!read(arg, base + ARCH_WORD * (uint64_t)(int64_t)unwind_rule_offset(rule), &cfa))
		return UNWIND_END_BAD_READ;
	return unwind_step_to(frame, rule, cfa + ARCH_WORD * (uint64_t)unwind_rule_small(rule),
			      read, arg);
}

/* Out of a signal handler: the kernel stored all registers, and pc is no return address. */
static inline enum unwind_end unwind_step_signal(struct unwind_frame *frame, unwind_rule rule,
						 unwind_read *read, void *arg)
{
	uint64_t saved_sp = frame->sp + ARCH_WORD * (uint64_t)(int64_t)unwind_rule_operand(rule);
	struct unwind_frame caller = { .exact = true };

	if (!read(arg, saved_sp, &caller.sp) ||
	    !read(arg, saved_sp + ARCH_SIGNAL_PC_FROM_SP, &caller.pc) ||
	    !read(arg, saved_sp + ARCH_SIGNAL_FP_FROM_SP, &caller.fp))
		return UNWIND_END_BAD_READ;
	if (!ARCH_RETURN_IS_PUSHED)
		read(arg, saved_sp + ARCH_SIGNAL_LINK_FROM_SP, &caller.link);
	*frame = caller;
	return UNWIND_MORE;
}

/* Without CFI: believe the frame pointer if it points up the stack. */
static inline enum unwind_end unwind_step_chain(struct unwind_frame *frame, unwind_read *read,
						void *arg)
{
	struct unwind_frame caller = { .sp = frame->fp + UINT64_C(2) * ARCH_WORD,
				       .pc_at = frame->fp + ARCH_WORD,
				       .fp_at = frame->fp };

	if (frame->fp_lost)
		return UNWIND_END_FP_LOST;
	if (!frame->fp)
		return UNWIND_END_FP_ENDED;
	if (frame->fp < frame->sp || frame->fp % ARCH_WORD)
		return UNWIND_END_NO_CFI;
	if (!read(arg, frame->fp, &caller.fp) || !read(arg, frame->fp + ARCH_WORD, &caller.pc))
		return UNWIND_END_BAD_READ;
	caller.pc = unwind_code(caller.pc);
	caller.sp_lost = !ARCH_RETURN_IS_PUSHED;
	if (!caller.pc)
		return UNWIND_END_FP_ENDED;
	*frame = caller;
	return UNWIND_MORE;
}

/* The CFA is relative to sp; or, where that is not known, to the frame record that fp points to. */
static inline __attribute__((always_inline)) enum unwind_end
unwind_step_sp(struct unwind_frame *frame, unwind_rule rule, unwind_read *read, void *arg)
{
	uint32_t slot = unwind_rule_fp(rule);
	uint64_t distance = (uint64_t)((int64_t)ARCH_WORD * unwind_rule_distance(rule));

	if (ARCH_RETURN_IS_PUSHED || !frame->sp_lost)
		return unwind_step_to(frame, rule, frame->sp + distance, read, arg);
	if (frame->fp_lost || slot == UNWIND_FP_SAME || slot == UNWIND_FP_AT_FP ||
	    slot == UNWIND_FP_LOST)
		return UNWIND_END_FP_LOST;
	return unwind_step_to(frame, rule, frame->fp + ARCH_WORD * unwind_rule_fp_depth(rule), read,
			      arg);
}

/*
 * Replaces *frame by its caller's and returns UNWIND_MORE, or says why there is none.  Of other
 * registers (UNWIND_RULE_REGISTER, UNWIND_RULE_LINK) it knows nothing, but for the link of a frame
 * that a signal interrupted: unsupported.
 */
static inline __attribute__((always_inline)) enum unwind_end
unwind_step(struct unwind_frame *frame, unwind_rule rule, unwind_read *read, void *arg)
{
	int64_t operand = unwind_rule_operand(rule);

	switch (unwind_rule_kind(rule)) {
	case UNWIND_RULE_SP:
		return unwind_step_sp(frame, rule, read, arg);
	case UNWIND_RULE_FP:
		if (frame->fp_lost)
			return UNWIND_END_FP_LOST;
		return unwind_step_to(
			frame, rule,
			frame->fp + (uint64_t)((int64_t)ARCH_WORD * unwind_rule_distance(rule)),
			read, arg);
	case UNWIND_RULE_PLT:
		return unwind_step_to(frame, rule,
				      frame->sp + ((int64_t)(frame->pc & 15) >= operand ? 16 : 8),
				      read, arg);
	case UNWIND_RULE_AT_SP:
		return unwind_step_at(frame, rule, frame->sp, read, arg);
	case UNWIND_RULE_AT_FP:
		if (frame->fp_lost)
			return UNWIND_END_FP_LOST;
		return unwind_step_at(frame, rule, frame->fp, read, arg);
	case UNWIND_RULE_SIGNAL:
		return unwind_step_signal(frame, rule, read, arg);
	case UNWIND_RULE_CHAIN:
		return unwind_step_chain(frame, read, arg);
	case UNWIND_RULE_ROOT:
		return UNWIND_END_ROOT;
	case UNWIND_RULE_LINK:
		if (ARCH_RETURN_IS_PUSHED || !frame->exact || !frame->link)
			return UNWIND_END_UNSUPPORTED;
		return unwind_step_link(frame, rule, frame->link, read, arg);
	case UNWIND_RULE_REGISTER:
	case UNWIND_RULE_PROBE:
	case UNWIND_RULE_UNSUPPORTED:
		return UNWIND_END_UNSUPPORTED;
	case UNWIND_RULE_DAMAGED:
		return UNWIND_END_DAMAGED;
	default:
		return UNWIND_END_NO_CFI;
	}
}

#endif
