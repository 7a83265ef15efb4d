/* SPDX-License-Identifier: MIT */
/*
 * rule - how to get from a frame to its caller, in 32 bits.
 *
 *	unwind_rule rule = unwind_rule_make(UNWIND_RULE_SP, 32 / 8, 16 / 8);
 *
 * reads: the CFA (the caller's sp) is sp + 32, the caller's frame pointer is at CFA - 16.  Where
 * calls push it, the return address is always at CFA - 8; CFI that says otherwise becomes
 * UNSUPPORTED. Where they leave it in a register, the operand of SP and FP is a pair, and `small`
 * says where a function saved it: at CFA - 8 * small, or UNWIND_RETURN_BY_FP, in the word above the
 * frame pointer's. With a 32-bit offset of the pc in front, a row of a table takes 8 bytes.
 *
 * Rules are made from CFI by cfi.h and used up by step.h.  A zeroed rule is NONE.
 */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

/* bits 0-3 kind, 4-12 where the frame pointer is, 13-31 operand (signed) */
typedef uint32_t unwind_rule;

enum unwind_rule_kind {
	UNWIND_RULE_NONE,	 /* no CFI covers these addresses */
	UNWIND_RULE_SP,		 /* CFA = sp + 8 * unwind_rule_distance() */
	UNWIND_RULE_FP,		 /* CFA = fp + 8 * unwind_rule_distance() */
	UNWIND_RULE_AT_SP,	 /* CFA = the word at sp + 8 * offset, + 8 * small */
	UNWIND_RULE_AT_FP,	 /* CFA = the word at fp + 8 * offset, + 8 * small */
	UNWIND_RULE_PLT,	 /* CFA = sp + 8, plus 8 where (pc & 15) >= operand */
	UNWIND_RULE_REGISTER,	 /* CFA = register `small` + 8 * offset; see unwind_step() */
	UNWIND_RULE_LINK,	 /* CFA = sp + 8 * offset; return address: in unwind_rule_link() */
	UNWIND_RULE_SIGNAL,	 /* interrupted sp: at sp + 8 * operand; pc and fp are around it */
	UNWIND_RULE_CHAIN,	 /* no CFI: fp points to { caller's fp, return address } */
	UNWIND_RULE_ROOT,	 /* the outermost frame */
	UNWIND_RULE_UNSUPPORTED, /* operand: enum unwind_unsupported */
	UNWIND_RULE_DAMAGED,	 /* CFI that contradicts itself or breaks off */
	UNWIND_NR_RULE_KINDS
};

/* Why CFI cannot be a rule. */
enum unwind_unsupported {
	UNWIND_CFA_REGISTER,   /* the CFA is relative to a register that is not known */
	UNWIND_CFA_EXPRESSION, /* or an expression of a form not known here */
	UNWIND_CFA_OFFSET,     /* or too far away, or not at a multiple of 8 */
	UNWIND_RETURN_ADDRESS, /* the return address is not where calls put it */
	UNWIND_STACK_POINTER,  /* the caller's sp is not the CFA */
	UNWIND_SIGNAL_FRAME,   /* a signal frame other than the kernel's */
	UNWIND_NR_UNSUPPORTED
};

enum {
	UNWIND_FP_SAME = 0,    /* the function left the frame pointer alone */
	UNWIND_FP_AT_FP = 510, /* saved where it points now */
	UNWIND_FP_LOST = 511,  /* gone */

	UNWIND_OPERAND_MIN = -(1 << 18),
	UNWIND_OPERAND_MAX = (1 << 18) - 1,
	/* of an operand that is a pair */
	UNWIND_OFFSET_MIN = -(1 << 14),
	UNWIND_OFFSET_MAX = (1 << 14) - 1,
	UNWIND_SMALL_MAX = 15,
	UNWIND_RETURN_ALONE = 14,
	UNWIND_RETURN_BY_FP = 15,
};

static inline unwind_rule unwind_rule_make(enum unwind_rule_kind kind, int32_t operand, uint32_t fp)
{
	return (uint32_t)operand << 13 | (fp & 511) << 4 | (uint32_t)kind;
}

static inline enum unwind_rule_kind unwind_rule_kind(unwind_rule rule)
{
	return (enum unwind_rule_kind)(rule & 15);
}

/* One shift where the rule was the upper half of a word, as in a cache. */
static inline int64_t unwind_rule_operand(unwind_rule rule)
{
	return (int64_t)((uint64_t)rule << 32) >> (13 + 32);
}

/* The two halves of an operand that is a pair. */
static inline int64_t unwind_rule_offset(unwind_rule rule)
{
	return unwind_rule_operand(rule) >> 4;
}

static inline uint32_t unwind_rule_small(unwind_rule rule)
{
	return (uint32_t)unwind_rule_operand(rule) & UNWIND_SMALL_MAX;
}

static inline int32_t unwind_rule_pair(int32_t offset, uint32_t small)
{
	return (int32_t)((uint32_t)offset << 4 | small);
}

/* From the register that the CFA is relative to, in words. */
static inline int64_t unwind_rule_distance(unwind_rule rule)
{
	return ARCH_RETURN_IS_PUSHED ? unwind_rule_operand(rule) : unwind_rule_offset(rule);
}

/* The register that holds the return address, by its DWARF number. */
static inline uint32_t unwind_rule_link(unwind_rule rule)
{
	return ARCH_RETURN_IS_PUSHED ? unwind_rule_small(rule) : ARCH_DWARF_RETURN;
}

/* Whether the field of the frame pointer's slot is that of the return address. */
static inline bool unwind_rule_return_is_alone(unwind_rule rule)
{
	enum unwind_rule_kind kind = unwind_rule_kind(rule);

	return !ARCH_RETURN_IS_PUSHED && (kind == UNWIND_RULE_SP || kind == UNWIND_RULE_FP) &&
	       unwind_rule_small(rule) == UNWIND_RETURN_ALONE;
}

/* The field itself. */
static inline uint32_t unwind_rule_slot(unwind_rule rule)
{
	return rule >> 4 & 511;
}

/* UNWIND_FP_SAME, _AT_FP, _LOST, or n: saved at CFA - 8 * n. */
static inline uint32_t unwind_rule_fp(unwind_rule rule)
{
	return unwind_rule_return_is_alone(rule) ? (uint32_t)UNWIND_FP_SAME
						 : unwind_rule_slot(rule);
}

/* The rule for code without CFI: try the chain of frame pointers.  Others stay as they are. */
static inline unwind_rule unwind_rule_or_chain(unwind_rule rule)
{
	return unwind_rule_kind(rule) == UNWIND_RULE_NONE
		       ? unwind_rule_make(UNWIND_RULE_CHAIN, 0, UNWIND_FP_SAME)
		       : rule;
}

/* Addresses start <= pc < end that share a rule. */
struct unwind_row {
	uint64_t start, end;
	unwind_rule rule;
};

#endif
