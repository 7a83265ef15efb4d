/* SPDX-License-Identifier: MIT */
#include "unwind/state.h"

static unwind_rule unsupported(enum unwind_unsupported reason)
{
	return unwind_rule_make(UNWIND_RULE_UNSUPPORTED, (int32_t)reason, UNWIND_FP_SAME);
}

/* Of the words below the CFA, those that a rule can name. */
static bool is_slot(int32_t offset)
{
	return offset < 0 && offset % ARCH_WORD == 0 && offset > -ARCH_WORD * UNWIND_FP_AT_FP;
}

static uint32_t fp_slot(const struct state *state)
{
	struct unwind_place fp = state->fp;

	if (fp.kind == UNWIND_PLACE_SAME)
		return UNWIND_FP_SAME;
	if (fp.kind == UNWIND_PLACE_FP && !fp.offset)
		return UNWIND_FP_AT_FP;
	if (fp.kind == UNWIND_PLACE_CFA && is_slot(fp.offset))
		return (uint32_t)(-fp.offset / ARCH_WORD);
	if (fp.kind == UNWIND_PLACE_CFA && state->cfa.kind == CFA_REGISTER &&
	    state->cfa.reg == ARCH_DWARF_FP && fp.offset == -state->cfa.offset)
		return UNWIND_FP_AT_FP;
	return UNWIND_FP_LOST;
}

static unwind_rule relative(enum unwind_rule_kind kind, int32_t offset, uint32_t fp)
{
	int32_t operand = offset / ARCH_WORD;

	if (offset % ARCH_WORD || operand < UNWIND_OPERAND_MIN || operand > UNWIND_OPERAND_MAX)
		return unsupported(UNWIND_CFA_OFFSET);
	return unwind_rule_make(kind, operand, fp);
}

static unwind_rule paired(enum unwind_rule_kind kind, int32_t offset, uint32_t small, uint32_t fp)
{
	int32_t words = offset / ARCH_WORD;

	if (offset % ARCH_WORD || words < UNWIND_OFFSET_MIN || words > UNWIND_OFFSET_MAX)
		return unsupported(UNWIND_CFA_OFFSET);
	return unwind_rule_make(kind, unwind_rule_pair(words, small), fp);
}

static unwind_rule signal_rule(const struct state *state)
{
	int32_t sp = state->cfa.offset;

	/* Without overflow: these are small, or the operand is refused below. */
	if (state->cfa.kind != CFA_AT_SP || sp > INT32_MAX / 2 || sp < INT32_MIN / 2 ||
	    state->return_address.kind != UNWIND_PLACE_SP ||
	    state->return_address.offset != sp + ARCH_SIGNAL_PC_FROM_SP ||
	    state->fp.kind != UNWIND_PLACE_SP || state->fp.offset != sp + ARCH_SIGNAL_FP_FROM_SP)
		return unsupported(UNWIND_SIGNAL_FRAME);
	return relative(UNWIND_RULE_SIGNAL, sp, UNWIND_FP_SAME);
}

static unwind_rule saved_rule(enum unwind_rule_kind kind, const struct state *state)
{
	uint32_t addend = state->cfa.addend;

	if (addend % ARCH_WORD || addend / ARCH_WORD > UNWIND_SMALL_MAX)
		return unsupported(UNWIND_CFA_OFFSET);
	return paired(kind, state->cfa.offset, addend / ARCH_WORD, fp_slot(state));
}

/* Where the return address is saved, as a rule has it; 0: it cannot have that. */
static uint32_t return_slot(const struct state *state, uint32_t fp)
{
	int32_t offset = state->return_address.offset;

	if (fp != UNWIND_FP_SAME && fp != UNWIND_FP_LOST && state->fp.kind == UNWIND_PLACE_CFA &&
	    offset == state->fp.offset + ARCH_WORD)
		return UNWIND_RETURN_BY_FP;
	if (offset < 0 && offset > -ARCH_WORD * UNWIND_RETURN_ALONE && offset % ARCH_WORD == 0)
		return (uint32_t)(-offset / ARCH_WORD);
	return 0;
}

static enum unwind_near_fp near_fp(const struct state *state)
{
	if (state->fp.kind == UNWIND_PLACE_SAME)
		return UNWIND_NEAR_FP_SAME;
	return state->fp.kind == UNWIND_PLACE_CFA &&
			       state->fp.offset == state->return_address.offset - ARCH_WORD
		       ? UNWIND_NEAR_FP_BELOW
		       : UNWIND_NEAR_FP_LOST;
}

/* A frame with the return address at its lower end, as GCC makes those that are large. */
static unwind_rule near_rule(enum unwind_rule_kind kind, const struct state *state)
{
	int64_t cfa = state->cfa.offset, above = cfa + state->return_address.offset;

	if (cfa < 0 || cfa % (2 * ARCH_WORD) || cfa / (2 * ARCH_WORD) > UNWIND_NEAR_PAIRS_MAX)
		return unsupported(UNWIND_CFA_OFFSET);
	if (above < 0 || above % ARCH_WORD || above / ARCH_WORD > UNWIND_NEAR_WORDS_MAX)
		return unsupported(UNWIND_RETURN_ADDRESS);
	return unwind_rule_make_near(kind, (uint32_t)(cfa / (2 * ARCH_WORD)),
				     (uint32_t)(above / ARCH_WORD), near_fp(state));
}

static bool is_supported(unwind_rule rule)
{
	return unwind_rule_kind(rule) != UNWIND_RULE_UNSUPPORTED;
}

/* The CFA is relative to sp or fp. */
static unwind_rule frame_rule(enum unwind_rule_kind kind, const struct state *state, uint32_t fp)
{
	unwind_rule rule = unsupported(UNWIND_RETURN_ADDRESS);
	uint32_t slot;

	if (ARCH_RETURN_IS_PUSHED)
		return relative(kind, state->cfa.offset, fp);
	slot = return_slot(state, fp);
	if (slot)
		rule = paired(kind, state->cfa.offset, slot, fp);
	else if (fp == UNWIND_FP_SAME && is_slot(state->return_address.offset))
		rule = paired(kind, state->cfa.offset, UNWIND_RETURN_ALONE,
			      (uint32_t)(-state->return_address.offset / ARCH_WORD));
	return is_supported(rule) ? rule : near_rule(kind, state);
}

static unwind_rule register_rule(const struct state *state)
{
	uint32_t fp = fp_slot(state);

	if (state->cfa.reg == ARCH_DWARF_SP)
		return frame_rule(UNWIND_RULE_SP, state, fp);
	if (state->cfa.reg == ARCH_DWARF_FP)
		return frame_rule(UNWIND_RULE_FP, state, fp);
	if (state->cfa.reg > UNWIND_SMALL_MAX || !ARCH_RETURN_IS_PUSHED)
		return unsupported(UNWIND_CFA_REGISTER);

	unwind_rule rule = paired(UNWIND_RULE_REGISTER, state->cfa.offset, state->cfa.reg, fp);
	return is_supported(rule) || state->cfa.reg != ARCH_DWARF_PROBE
		       ? rule
		       : relative(UNWIND_RULE_PROBE, state->cfa.offset, fp);
}

static unwind_rule cfa_rule(const struct state *state)
{
	if (!ARCH_RETURN_IS_PUSHED && state->cfa.kind != CFA_REGISTER)
		return unsupported(state->cfa.kind == CFA_TOO_LARGE ? UNWIND_CFA_OFFSET
								    : UNWIND_CFA_EXPRESSION);
	switch (state->cfa.kind) {
	case CFA_REGISTER:
		return register_rule(state);
	case CFA_PLT:
		return unwind_rule_make(UNWIND_RULE_PLT, state->cfa.offset, fp_slot(state));
	case CFA_AT_SP:
		return saved_rule(UNWIND_RULE_AT_SP, state);
	case CFA_AT_FP:
		return saved_rule(UNWIND_RULE_AT_FP, state);
	case CFA_TOO_LARGE:
		return unsupported(UNWIND_CFA_OFFSET);
	default:
		return unsupported(UNWIND_CFA_EXPRESSION);
	}
}

/* The return address is in a register, which only matters in the innermost frame. */
static unwind_rule link_rule(const struct state *state)
{
	uint32_t reg = (uint32_t)state->return_address.offset;

	if (state->return_address.kind == UNWIND_PLACE_SAME)
		reg = 0; /* the only one that it can be */
	if (state->cfa.kind != CFA_REGISTER || state->cfa.reg != ARCH_DWARF_SP ||
	    reg > UNWIND_SMALL_MAX)
		return unsupported(UNWIND_RETURN_ADDRESS);
	return ARCH_RETURN_IS_PUSHED
		       ? paired(UNWIND_RULE_LINK, state->cfa.offset, reg, fp_slot(state))
		       : relative(UNWIND_RULE_LINK, state->cfa.offset, fp_slot(state));
}

unwind_rule state_rule(const struct state *state, bool is_signal_frame)
{
	if (state->return_address.kind == UNWIND_PLACE_UNDEFINED)
		return unwind_rule_make(UNWIND_RULE_ROOT, 0, UNWIND_FP_SAME);
	if (is_signal_frame)
		return signal_rule(state);
	if (state->sp.kind != UNWIND_PLACE_SAME)
		return unsupported(UNWIND_STACK_POINTER);
	if (state->return_address.kind ==
	    (ARCH_RETURN_IS_PUSHED ? UNWIND_PLACE_REGISTER : UNWIND_PLACE_SAME))
		return link_rule(state);
	if (state->return_address.kind != UNWIND_PLACE_CFA ||
	    (ARCH_RETURN_IS_PUSHED && state->return_address.offset != ARCH_RETURN_AT_CFA))
		return unsupported(UNWIND_RETURN_ADDRESS);
	return cfa_rule(state);
}
