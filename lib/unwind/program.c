/* SPDX-License-Identifier: MIT */
#include "unwind/program.h"

#include "arch/arch.h"
#include "unwind/state.h"

enum {
	/* The high two bits; the operand is in the others. */
	DW_CFA_advance_loc = 0x40,
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,
	DW_CFA_high = 0xc0,

	DW_CFA_nop = 0x00,
	DW_CFA_set_loc = 0x01,
	DW_CFA_advance_loc1 = 0x02,
	DW_CFA_advance_loc2 = 0x03,
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_offset_extended = 0x05,
	DW_CFA_restore_extended = 0x06,
	DW_CFA_undefined = 0x07,
	DW_CFA_same_value = 0x08,
	DW_CFA_register = 0x09,
	DW_CFA_remember_state = 0x0a,
	DW_CFA_restore_state = 0x0b,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_register = 0x0d,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_CFA_expression = 0x10,
	DW_CFA_offset_extended_sf = 0x11,
	DW_CFA_def_cfa_sf = 0x12,
	DW_CFA_def_cfa_offset_sf = 0x13,
	DW_CFA_val_offset = 0x14,
	DW_CFA_val_offset_sf = 0x15,
	DW_CFA_val_expression = 0x16,
	DW_CFA_AARCH64_negate_ra_state = 0x2d,
	DW_CFA_GNU_args_size = 0x2e,
	DW_CFA_GNU_negative_offset_extended = 0x2f,

	DW_OP_deref = 0x06,
	DW_OP_and = 0x1a,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst = 0x23,
	DW_OP_shl = 0x24,
	DW_OP_ge = 0x2a,
	DW_OP_lit0 = 0x30,
	DW_OP_lit3 = 0x33,
	DW_OP_lit15 = 0x3f,
	DW_OP_breg0 = 0x70,
	DW_OP_breg_sp = DW_OP_breg0 + ARCH_DWARF_SP,
	DW_OP_breg_fp = DW_OP_breg0 + ARCH_DWARF_FP,
	DW_OP_breg_return = DW_OP_breg0 + ARCH_DWARF_RETURN,
};

enum {
	REMEMBER_MAX = 8,
	NOT_FOLLOWED = UINT8_MAX,
};

struct program {
	const struct fde *fde;
	uint64_t followed;	 /* one more register, or NOT_FOLLOWED */
	uint64_t location, next; /* the state is that of location <= pc < next */
	struct state now, initial;
	struct state remembered[REMEMBER_MAX];
	unsigned int nr_remembered;
	bool damaged;
};

static bool fits(int64_t offset)
{
	return offset == (int32_t)offset;
}

/* --- expressions: a few forms are known ------------------------------------ */

/* The word at "base + offset", plus a constant. */
static struct cfa cfa_deref(uint8_t base, int64_t offset, struct bytes rest)
{
	bool adds = bytes_left(&rest) && bytes_u8(&rest) == DW_OP_plus_uconst;
	uint64_t addend = adds ? bytes_uleb(&rest) : 0;

	if ((base != DW_OP_breg_sp && base != DW_OP_breg_fp) || rest.bad || bytes_left(&rest))
		return (struct cfa){ .kind = CFA_UNKNOWN };
	if (!fits(offset) || addend > UINT16_MAX)
		return (struct cfa){ .kind = CFA_TOO_LARGE };
	return (struct cfa){
		.kind = base == DW_OP_breg_sp ? CFA_AT_SP : CFA_AT_FP,
		.offset = (int32_t)offset,
		.addend = (uint16_t)addend,
	};
}

/* sp + 8 + ((pc & 15) >= threshold) * 8, as linkers write it for lazy PLTs. */
static struct cfa cfa_plt(struct bytes expression)
{
	static const uint8_t head[] = { DW_OP_breg_return, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const uint8_t *at = bytes_take(&expression, sizeof(head) + 1 + sizeof(tail));
	bool known = at && !bytes_left(&expression);

	for (size_t i = 0; known && i < sizeof(head); i++)
		known = at[i] == head[i] && at[sizeof(head) + 1 + i] == tail[i];
	if (!known || at[sizeof(head)] < DW_OP_lit0 || at[sizeof(head)] > DW_OP_lit15)
		return (struct cfa){ .kind = CFA_UNKNOWN };
	return (struct cfa){ .kind = CFA_PLT, .offset = at[sizeof(head)] - DW_OP_lit0 };
}

static struct cfa cfa_expression(struct bytes expression)
{
	uint8_t base = bytes_u8(&expression);
	int64_t offset = bytes_sleb(&expression);

	if (base == DW_OP_breg_sp && offset == ARCH_WORD && bytes_left(&expression) > 3)
		return cfa_plt(expression);
	if (bytes_u8(&expression) == DW_OP_deref)
		return cfa_deref(base, offset, expression);
	return (struct cfa){ .kind = CFA_UNKNOWN };
}

static struct unwind_place place_expression(struct bytes expression)
{
	uint8_t base = bytes_u8(&expression);
	int64_t offset = bytes_sleb(&expression);

	if (expression.bad || bytes_left(&expression) || !fits(offset))
		return (struct unwind_place){ .kind = UNWIND_PLACE_OTHER };
	if (base == DW_OP_breg_sp)
		return (struct unwind_place){ .kind = UNWIND_PLACE_SP, .offset = (int32_t)offset };
	if (base == DW_OP_breg_fp)
		return (struct unwind_place){ .kind = UNWIND_PLACE_FP, .offset = (int32_t)offset };
	return (struct unwind_place){ .kind = UNWIND_PLACE_OTHER };
}

/* --- instructions ----------------------------------------------------------- */

/* The place of a register we follow, or NULL. */
static struct unwind_place *place_in(struct state *state, const struct program *program,
				     uint64_t reg)
{
	if (reg == program->fde->cie.return_column)
		return &state->return_address;
	if (reg == ARCH_DWARF_FP)
		return &state->fp;
	if (reg == ARCH_DWARF_SP)
		return &state->sp;
	if (reg == program->followed)
		return &state->followed;
	return NULL;
}

static void set_place(struct program *program, uint64_t reg, struct unwind_place place)
{
	struct unwind_place *followed = place_in(&program->now, program, reg);

	if (followed)
		*followed = place;
}

static struct unwind_place place_register(uint64_t reg)
{
	if (reg >= ARCH_NR_GENERAL)
		return (struct unwind_place){ .kind = UNWIND_PLACE_OTHER };
	return (struct unwind_place){ .kind = UNWIND_PLACE_REGISTER, .offset = (int32_t)reg };
}

static void set_place_kind(struct program *program, uint64_t reg, enum unwind_place_kind kind)
{
	set_place(program, reg, (struct unwind_place){ .kind = (uint8_t)kind });
}

static void save_at_cfa(struct program *program, uint64_t reg, uint64_t factored)
{
	int64_t offset = (int64_t)(factored * (uint64_t)program->fde->cie.data_factor);

	if (fits(offset))
		set_place(program, reg, (struct unwind_place){ UNWIND_PLACE_CFA, (int32_t)offset });
	else
		set_place_kind(program, reg, UNWIND_PLACE_OTHER);
}

static void restore_place(struct program *program, uint64_t reg)
{
	struct unwind_place *initial = place_in(&program->initial, program, reg);

	if (initial)
		set_place(program, reg, *initial);
}

static void set_cfa(struct program *program, uint64_t reg, int64_t offset)
{
	struct cfa *cfa = &program->now.cfa;

	cfa->kind = fits(offset) && reg <= UINT8_MAX ? CFA_REGISTER : CFA_TOO_LARGE;
	cfa->reg = (uint8_t)reg;
	cfa->offset = (int32_t)offset;
}

/* Half a definition needs the other half to be there. */
static void set_cfa_half(struct program *program, uint64_t reg, int64_t offset)
{
	uint8_t kind = program->now.cfa.kind;

	if (kind == CFA_REGISTER || kind == CFA_TOO_LARGE)
		set_cfa(program, reg, offset);
	else
		program->now.cfa.kind = CFA_UNKNOWN;
}

static void remember(struct program *program)
{
	if (program->nr_remembered < REMEMBER_MAX)
		program->remembered[program->nr_remembered++] = program->now;
	else
		program->damaged = true;
}

static void restore(struct program *program)
{
	if (program->nr_remembered)
		program->now = program->remembered[--program->nr_remembered];
	else
		program->damaged = true;
}

static int64_t factored_sleb(const struct program *program, struct bytes *in)
{
	uint64_t factor = (uint64_t)program->fde->cie.data_factor;

	return (int64_t)((uint64_t)bytes_sleb(in) * factor);
}

static struct bytes expression_block(struct bytes *in)
{
	return bytes_cut(in, bytes_uleb(in));
}

/* Everything that does not move the location. */
static void execute(struct program *program, uint8_t opcode, struct bytes *in)
{
	struct cfa *cfa = &program->now.cfa;
	uint64_t reg;

	switch (opcode) {
	case DW_CFA_nop:
		return;
	case DW_CFA_offset_extended:
		reg = bytes_uleb(in);
		save_at_cfa(program, reg, bytes_uleb(in));
		return;
	case DW_CFA_offset_extended_sf:
		reg = bytes_uleb(in);
		save_at_cfa(program, reg, (uint64_t)bytes_sleb(in));
		return;
	case DW_CFA_GNU_negative_offset_extended:
		reg = bytes_uleb(in);
		save_at_cfa(program, reg, -bytes_uleb(in));
		return;
	case DW_CFA_restore_extended:
		restore_place(program, bytes_uleb(in));
		return;
	case DW_CFA_undefined:
		set_place_kind(program, bytes_uleb(in), UNWIND_PLACE_UNDEFINED);
		return;
	case DW_CFA_same_value:
		set_place_kind(program, bytes_uleb(in), UNWIND_PLACE_SAME);
		return;
	case DW_CFA_register:
		reg = bytes_uleb(in);
		set_place(program, reg, place_register(bytes_uleb(in)));
		return;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		set_place_kind(program, bytes_uleb(in), UNWIND_PLACE_OTHER);
		bytes_uleb(in);
		return;
	case DW_CFA_val_expression:
		set_place_kind(program, bytes_uleb(in), UNWIND_PLACE_OTHER);
		expression_block(in);
		return;
	case DW_CFA_expression:
		reg = bytes_uleb(in);
		set_place(program, reg, place_expression(expression_block(in)));
		return;
	case DW_CFA_remember_state:
		remember(program);
		return;
	case DW_CFA_restore_state:
		restore(program);
		return;
	case DW_CFA_def_cfa:
		reg = bytes_uleb(in);
		set_cfa(program, reg, (int64_t)bytes_uleb(in));
		return;
	case DW_CFA_def_cfa_sf:
		reg = bytes_uleb(in);
		set_cfa(program, reg, factored_sleb(program, in));
		return;
	case DW_CFA_def_cfa_register:
		set_cfa_half(program, bytes_uleb(in), cfa->offset);
		return;
	case DW_CFA_def_cfa_offset:
		set_cfa_half(program, cfa->reg, (int64_t)bytes_uleb(in));
		return;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa_half(program, cfa->reg, factored_sleb(program, in));
		return;
	case DW_CFA_def_cfa_expression:
		*cfa = cfa_expression(expression_block(in));
		return;
	case DW_CFA_GNU_args_size:
		bytes_uleb(in);
		return;
	case DW_CFA_AARCH64_negate_ra_state: /* signed or not, unwind_code() makes it an address */
		program->damaged |= ARCH_RETURN_IS_PUSHED;
		return;
	default:
		program->damaged = true;
	}
}

/* Whether the opcode moves the location, and to where. */
static bool moves_location(const struct program *program, uint8_t opcode, struct bytes *in,
			   uint64_t *to)
{
	const struct cie *cie = &program->fde->cie;

	if ((opcode & DW_CFA_high) == DW_CFA_advance_loc)
		*to = program->location + (opcode & 0x3f) * cie->code_factor;
	else if (opcode == DW_CFA_advance_loc1)
		*to = program->location + bytes_u8(in) * cie->code_factor;
	else if (opcode == DW_CFA_advance_loc2)
		*to = program->location + bytes_u16(in) * cie->code_factor;
	else if (opcode == DW_CFA_advance_loc4)
		*to = program->location + bytes_u32(in) * cie->code_factor;
	else if (opcode == DW_CFA_set_loc)
		*to = bytes_pointer(in, cie->pointer_encoding, 0, 0);
	else
		return false;
	return true;
}

/* One instruction.  True if it ends the row, at program->next. */
static bool step(struct program *program, struct bytes *in)
{
	uint8_t opcode = bytes_u8(in);
	uint64_t to;

	if ((opcode & DW_CFA_high) == DW_CFA_offset) {
		save_at_cfa(program, opcode & 0x3f, bytes_uleb(in));
	} else if ((opcode & DW_CFA_high) == DW_CFA_restore) {
		restore_place(program, opcode & 0x3f);
	} else if (moves_location(program, opcode, in, &to)) {
		program->damaged |= to < program->location;
		if (to < program->next)
			program->next = to;
		return to != program->location;
	} else {
		execute(program, opcode, in);
	}
	return false;
}

/* Runs to the end of the row that begins at program->location. */
static void run(struct program *program, struct bytes *instructions)
{
	struct bytes in = *instructions;

	program->next = program->fde->end;
	while (bytes_left(&in) && !program->damaged)
		if (step(program, &in))
			break;
	program->damaged |= in.bad;
	if (program->damaged)
		program->next = program->fde->end;
	*instructions = in;
}

/* --- running ------------------------------------------------------------------ */

/* What the CIE says is the state at the start, and what restoring goes back to. */
static void start(struct program *program, const struct fde *fde, uint64_t followed)
{
	struct bytes instructions = fde->cie.instructions;

	program->fde = fde;
	program->followed = followed;
	program->location = fde->start;
	program->now = (struct state){ .cfa = { .kind = CFA_NONE } };
	program->initial = program->now;
	program->nr_remembered = 0;
	program->damaged = false;
	run(program, &instructions);
	program->initial = program->now;
	program->nr_remembered = 0;
}

/* Leaves the program in the row that holds pc. */
static void run_to(struct program *program, const struct fde *fde, uint64_t pc, uint64_t followed)
{
	struct bytes instructions = fde->instructions;

	start(program, fde, followed);
	run(program, &instructions);
	while (program->next <= pc) {
		program->location = program->next;
		run(program, &instructions);
	}
}

static unwind_rule rule_of(const struct program *program)
{
	if (program->damaged)
		return unwind_rule_make(UNWIND_RULE_DAMAGED, 0, UNWIND_FP_SAME);
	return state_rule(&program->now, program->fde->cie.signal_frame);
}

void program_find(const struct fde *fde, uint64_t pc, struct unwind_row *row)
{
	struct program program;

	run_to(&program, fde, pc, NOT_FOLLOWED);
	*row = (struct unwind_row){ program.location, program.next, rule_of(&program) };
}

struct unwind_place program_register(const struct fde *fde, uint64_t pc, unsigned int reg)
{
	struct program program;

	run_to(&program, fde, pc, reg);
	struct unwind_place *place = place_in(&program.now, &program, reg);
	return program.damaged || !place ? (struct unwind_place){ .kind = UNWIND_PLACE_OTHER }
					 : *place;
}
