/* SPDX-License-Identifier: MIT */
/*
 * state - what CFI says at one address: where the CFA is, and where registers are kept.
 *
 *	rule = state_rule(&state, is_signal_frame);
 *
 * A rule has room for what compilers do and the kernel's signal frames; for the rest it says what
 * it is that it cannot have.  Internal to lib/unwind.
 */
#ifndef UNWIND_STATE_H
#define UNWIND_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/rule.h"

enum cfa_kind {
	CFA_NONE,      /* not defined yet */
	CFA_REGISTER,  /* reg + offset */
	CFA_PLT,       /* the expression of a procedure linkage table; offset: its threshold */
	CFA_AT_FP,     /* the word at fp + offset, + addend */
	CFA_AT_SP,     /* the word at sp + offset, + addend */
	CFA_UNKNOWN,   /* an expression of another form */
	CFA_TOO_LARGE, /* offset does not fit */
};

struct cfa {
	uint8_t kind;
	uint8_t reg;
	uint16_t addend;
	int32_t offset;
};

struct state {
	struct cfa cfa;
	struct unwind_place fp, sp, return_address;
	struct unwind_place followed; /* one more register, or not used */
};

unwind_rule state_rule(const struct state *state, bool is_signal_frame);

#endif
