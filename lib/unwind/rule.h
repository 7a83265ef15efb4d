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
 * frame pointer's, or UNWIND_RETURN_NEAR, at the other end of a frame that may be large. With a
 * 32-bit offset of the pc in front, a row of a table takes 8 bytes.
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
	UNWIND_RULE_PROBE,	 /* the same of ARCH_DWARF_PROBE + 8 * operand, for large frames */
	UNWIND_RULE_LINK,	 /* CFA = sp + 8 * unwind_rule_link_distance(); return address: in
				    unwind_rule_link() */
	UNWIND_RULE_SIGNAL,	 /* interrupted sp: at sp + 8 * operand; pc and fp are around it */
	UNWIND_RULE_CHAIN,	 /* no CFI: fp points to { caller's fp, return address } */
	UNWIND_RULE_ROOT,	 /* the outermost frame */
	UNWIND_RULE_UNSUPPORTED, /* operand: enum unwind_unsupported */
	UNWIND_RULE_DAMAGED,	 /* CFI that contradicts itself or breaks off */
	UNWIND_RULE_NOT_CALLED,	 /* see unwind_rule_in_gap() */
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
	UNWIND_FP_NEAR = 512,  /* below a return address that is UNWIND_RETURN_NEAR */

	UNWIND_OPERAND_MIN = -(1 << 18),
	UNWIND_OPERAND_MAX = (1 << 18) - 1,
	/* of an operand that is a pair */
	UNWIND_OFFSET_MIN = -(1 << 14),
	UNWIND_OFFSET_MAX = (1 << 14) - 1,
	UNWIND_SMALL_MAX = 15,
	UNWIND_RETURN_NEAR = 0,
	UNWIND_RETURN_ALONE = 14,
	UNWIND_RETURN_BY_FP = 15,

	/* Of UNWIND_RETURN_NEAR: a return address so many words above what the CFA is relative to,
	 * and a CFA so many times two words above that. */
	UNWIND_NEAR_WORDS_MAX = 31,
	UNWIND_NEAR_PAIRS_MAX = (1 << 17) - 1,
};

/* What such a rule knows of the frame pointer. */
enum unwind_near_fp {
	UNWIND_NEAR_FP_SAME,
	UNWIND_NEAR_FP_BELOW, /* saved in the word below the return address */
	UNWIND_NEAR_FP_LOST,
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

/* The field of the frame pointer's slot. */
static inline uint32_t unwind_rule_slot(unwind_rule rule)
{
	return rule >> 4 & 511;
}

/* Whether there is one, by one test. */
static inline bool unwind_rule_has_slot(unwind_rule rule)
{
	return rule & 511u << 4;
}

/* Whether the rule is one of those that say where the return address is, and says that. */
static inline bool unwind_rule_returns(unwind_rule rule, uint32_t small)
{
	enum unwind_rule_kind kind = unwind_rule_kind(rule);

	return !ARCH_RETURN_IS_PUSHED && (kind == UNWIND_RULE_SP || kind == UNWIND_RULE_FP) &&
	       unwind_rule_small(rule) == small;
}

/*
 * A return address `words` above the register that the CFA is relative to, which is twice `pairs`
 * words above that register.  The field of the slot has, from the lowest bit on: the words (5 bits),
 * enum unwind_near_fp (2), and the upper bits of `pairs`, whose lower ones are the offset.
 */
static inline unwind_rule unwind_rule_make_near(enum unwind_rule_kind kind, uint32_t pairs,
						uint32_t words, enum unwind_near_fp fp)
{
	return unwind_rule_make(kind,
				unwind_rule_pair((int32_t)(pairs & 0x7fff), UNWIND_RETURN_NEAR),
				words | (uint32_t)fp << 5 | pairs >> 15 << 7);
}

static inline uint32_t unwind_rule_near_words(unwind_rule rule)
{
	return unwind_rule_slot(rule) & 31;
}

static inline enum unwind_near_fp unwind_rule_near_fp(unwind_rule rule)
{
	return (enum unwind_near_fp)(unwind_rule_slot(rule) >> 5 & 3);
}

static inline int64_t unwind_rule_near_pairs(unwind_rule rule)
{
	return (unwind_rule_offset(rule) & 0x7fff) | (int64_t)(unwind_rule_slot(rule) >> 7) << 15;
}

/* From the register that the CFA is relative to, in words. */
static inline int64_t unwind_rule_distance(unwind_rule rule)
{
	if (ARCH_RETURN_IS_PUSHED)
		return unwind_rule_operand(rule);
	return unwind_rule_returns(rule, UNWIND_RETURN_NEAR) ? 2 * unwind_rule_near_pairs(rule)
							     : unwind_rule_offset(rule);
}

/* The register that holds the return address, by its DWARF number. */
static inline uint32_t unwind_rule_link(unwind_rule rule)
{
	return ARCH_RETURN_IS_PUSHED ? unwind_rule_small(rule) : ARCH_DWARF_RETURN;
}

/* Of UNWIND_RULE_REGISTER and _PROBE: the register, by its DWARF number, and how many words the CFA
 * is from what it holds. */
static inline uint32_t unwind_rule_register(unwind_rule rule)
{
	return unwind_rule_kind(rule) == UNWIND_RULE_PROBE ? ARCH_DWARF_PROBE
							   : unwind_rule_small(rule);
}

static inline int64_t unwind_rule_register_distance(unwind_rule rule)
{
	return unwind_rule_kind(rule) == UNWIND_RULE_PROBE ? unwind_rule_operand(rule)
							   : unwind_rule_offset(rule);
}

/* From sp, in words, where the return address is in that register. */
static inline int64_t unwind_rule_link_distance(unwind_rule rule)
{
	return ARCH_RETURN_IS_PUSHED ? unwind_rule_offset(rule) : unwind_rule_operand(rule);
}

/* UNWIND_FP_SAME, _AT_FP, _LOST, _NEAR, or n: saved at CFA - 8 * n. */
static inline uint32_t unwind_rule_fp(unwind_rule rule)
{
	static const uint16_t near[] = { UNWIND_FP_SAME, UNWIND_FP_NEAR, UNWIND_FP_LOST,
					 UNWIND_FP_LOST };

	if (unwind_rule_returns(rule, UNWIND_RETURN_ALONE))
		return UNWIND_FP_SAME;
	if (unwind_rule_returns(rule, UNWIND_RETURN_NEAR))
		return near[unwind_rule_near_fp(rule)];
	return unwind_rule_slot(rule);
}

/* How many words below the CFA the frame pointer is saved; of a rule that knows. */
static inline uint64_t unwind_rule_fp_depth(unwind_rule rule)
{
	if (unwind_rule_returns(rule, UNWIND_RETURN_NEAR))
		return (uint64_t)unwind_rule_distance(rule) - unwind_rule_near_words(rule) + 1;
	return unwind_rule_slot(rule);
}

/* The rule for code without CFI: try the chain of frame pointers.  Others stay as they are. */
static inline unwind_rule unwind_rule_or_chain(unwind_rule rule)
{
	return unwind_rule_kind(rule) == UNWIND_RULE_NONE
		       ? unwind_rule_make(UNWIND_RULE_CHAIN, 0, UNWIND_FP_SAME)
		       : rule;
}

/*
 * Where no CFI covers the call that a return address is behind, by the rule for that address itself.  A
 * function that begins there was not called: the address was put there by hand, as that of what runs
 * after the function of a coroutine, and the frame pointer is anybody's.
 */
static inline unwind_rule unwind_rule_in_gap(unwind_rule at_return)
{
	return unwind_rule_kind(at_return) == UNWIND_RULE_NONE
		       ? at_return
		       : unwind_rule_make(UNWIND_RULE_NOT_CALLED, 0, UNWIND_FP_SAME);
}

/* Addresses start <= pc < end that share a rule. */
struct unwind_row {
	uint64_t start, end;
	unwind_rule rule;
};

#endif
