/* SPDX-License-Identifier: MIT */
/*
 * toy_rule - rules for functions whose return address is the word below the CFA, on every CPU.
 *
 *	rule(UNWIND_RULE_SP, 4, 2)	// CFA = sp + 4 words, frame pointer at CFA - 2 words
 *
 * Where calls push the return address, it is always there; elsewhere a rule says so, and in which
 * way depends on whether the frame pointer is right below it.
 */
#ifndef UNIT_TOY_RULE_H
#define UNIT_TOY_RULE_H

#include "unwind/rule.h"

static inline unwind_rule rule(enum unwind_rule_kind kind, int32_t operand, uint32_t fp)
{
	bool has_return = kind == UNWIND_RULE_SP || kind == UNWIND_RULE_FP;

	if (!ARCH_RETURN_IS_PUSHED && has_return)
		operand = unwind_rule_pair(operand, fp == 2 ? UNWIND_RETURN_BY_FP : 1);
	return unwind_rule_make(kind, operand, fp);
}

#endif
