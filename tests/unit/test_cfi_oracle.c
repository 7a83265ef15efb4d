/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <criterion/parameterized.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "record/stacks/module_cfi.h"
#include "unwind/cfi.h"
#include "unwind/step.h"

/*
 * Every row of the CFI of real files against libdw's interpreter, at every address at which libdw or
 * we begin another row.  On x86-64, what libdw says is turned into a rule here, by what the rules
 * mean; on aarch64, where a rule has several forms, a step by it must read what libdw says.
 */

enum {
	RBP = ARCH_DWARF_FP,
	RSP = ARCH_DWARF_SP,
	RIP = ARCH_DWARF_RETURN,
};

struct row_facts {
	Dwarf_Op cfa[16];
	size_t nr_cfa;
	/* in the order of the registers above */
	struct {
		enum { SAME, UNDEFINED, EXPRESSION } kind;
		Dwarf_Op ops[16];
		size_t nr;
	} reg[3];
	bool signal;
	Dwarf_Addr start, end;
};

static bool copy_ops(Dwarf_Op *to, size_t *nr_to, const Dwarf_Op *ops, size_t nr)
{
	if (nr > 16)
		return false;
	if (nr)
		memcpy(to, ops, nr * sizeof(*ops));
	*nr_to = nr;
	return true;
}

static bool ask_register(Dwarf_Frame *frame, struct row_facts *facts, size_t which, int number)
{
	Dwarf_Op memory[3], *ops;
	size_t nr;

	if (dwarf_frame_register(frame, number, memory, &ops, &nr) < 0)
		return false;
	facts->reg[which].kind = nr ? EXPRESSION : ops == memory ? UNDEFINED : SAME;
	return copy_ops(facts->reg[which].ops, &facts->reg[which].nr, ops, nr);
}

static bool ask_libdw(Dwarf_CFI *cfi, Dwarf_Addr pc, struct row_facts *facts)
{
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_cfi_addrframe(cfi, pc, &frame))
		return false;
	dwarf_frame_info(frame, &facts->start, &facts->end, &facts->signal);
	bool ok = !dwarf_frame_cfa(frame, &ops, &nr) &&
		  copy_ops(facts->cfa, &facts->nr_cfa, ops, nr) &&
		  ask_register(frame, facts, 0, RBP) && ask_register(frame, facts, 1, RSP) &&
		  ask_register(frame, facts, 2, RIP);
	free(frame);
	return ok;
}

/* --- what that means as a rule --------------------------------------------------- */

static bool is_breg(const Dwarf_Op *op, int reg, int64_t *offset)
{
	if (op->atom == DW_OP_breg0 + reg)
		*offset = (int64_t)op->number;
	else if (op->atom == DW_OP_bregx && op->number == (Dwarf_Word)reg)
		*offset = (int64_t)op->number2;
	else
		return false;
	return true;
}

/* Saved at CFA + *offset? */
static bool is_saved(const struct row_facts *facts, size_t which, int64_t *offset)
{
	const Dwarf_Op *ops = facts->reg[which].ops;

	if (facts->reg[which].kind != EXPRESSION || !facts->reg[which].nr ||
	    ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	*offset = facts->reg[which].nr > 1 ? (int64_t)ops[1].number : 0;
	return facts->reg[which].nr == 1 ||
	       (facts->reg[which].nr == 2 && ops[1].atom == DW_OP_plus_uconst);
}

static bool sp_is_cfa(const struct row_facts *facts)
{
	const Dwarf_Op *ops = facts->reg[1].ops;

	return facts->reg[1].kind == EXPRESSION && facts->reg[1].nr == 2 &&
	       ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value;
}

static unwind_rule unsupported(enum unwind_unsupported reason)
{
	return unwind_rule_make(UNWIND_RULE_UNSUPPORTED, reason, 0);
}

#ifdef __x86_64__

/* Saved at reg + *offset?  The CFA is on the stack of every such expression. */
static bool is_saved_near(const struct row_facts *facts, size_t which, int reg, int64_t *offset)
{
	const Dwarf_Op *ops = facts->reg[which].ops;

	return facts->reg[which].kind == EXPRESSION && facts->reg[which].nr == 2 &&
	       ops[0].atom == DW_OP_call_frame_cfa && is_breg(&ops[1], reg, offset);
}

static bool is_plt(const struct row_facts *facts, int64_t *threshold)
{
	static const uint8_t atoms[] = { DW_OP_breg0 + RSP, DW_OP_breg0 + RIP, DW_OP_lit15,
					 DW_OP_and,	    DW_OP_lit0,	       DW_OP_ge,
					 DW_OP_lit3,	    DW_OP_shl,	       DW_OP_plus };

	if (facts->nr_cfa != 9 || facts->cfa[0].number != 8 || facts->cfa[1].number != 0)
		return false;
	for (size_t i = 0; i < 9; i++)
		if (i != 4 && facts->cfa[i].atom != atoms[i])
			return false;
	*threshold = facts->cfa[4].atom - DW_OP_lit0;
	return *threshold >= 0 && *threshold <= 15;
}

static uint32_t slot_of(const struct row_facts *facts)
{
	int64_t offset;

	if (facts->reg[0].kind == SAME)
		return UNWIND_FP_SAME;
	if (is_saved_near(facts, 0, RBP, &offset) && !offset)
		return UNWIND_FP_AT_FP;
	if (is_saved(facts, 0, &offset) && offset < 0 && offset % 8 == 0 && offset > -510 * 8)
		return (uint32_t)(-offset / 8);
	return UNWIND_FP_LOST;
}

static unwind_rule near_rule(enum unwind_rule_kind kind, int64_t offset, uint32_t fp)
{
	if (offset % 8 || offset < -(1 << 21) || offset >= 1 << 21)
		return unsupported(UNWIND_CFA_OFFSET);
	return unwind_rule_make(kind, (int32_t)(offset / 8), fp);
}

static unwind_rule pair_rule(enum unwind_rule_kind kind, int64_t offset, uint64_t small,
			     uint32_t fp)
{
	if (offset % 8 || offset < -(1 << 17) || offset >= 1 << 17 || small > 15)
		return unsupported(UNWIND_CFA_OFFSET);
	return unwind_rule_make(kind, (int32_t)(offset / 8 * 16 + (int64_t)small), fp);
}

/* The word at reg + *offset, + *addend * 8? */
static bool is_deref(const struct row_facts *facts, int reg, int64_t *offset, uint64_t *addend)
{
	*addend = facts->nr_cfa == 3 ? facts->cfa[2].number / 8 : 0;
	return (facts->nr_cfa == 2 ||
		(facts->nr_cfa == 3 && facts->cfa[2].atom == DW_OP_plus_uconst)) &&
	       is_breg(&facts->cfa[0], reg, offset) && facts->cfa[1].atom == DW_OP_deref;
}

static unwind_rule expected_signal(const struct row_facts *facts)
{
	int64_t cfa, sp, rip, rbp;

	if (facts->nr_cfa == 2 && is_breg(&facts->cfa[0], RSP, &cfa) &&
	    facts->cfa[1].atom == DW_OP_deref && is_saved_near(facts, 1, RSP, &sp) && sp == cfa &&
	    is_saved_near(facts, 2, RSP, &rip) && rip == cfa + 8 &&
	    is_saved_near(facts, 0, RSP, &rbp) && rbp == cfa - 40)
		return near_rule(UNWIND_RULE_SIGNAL, cfa, 0);
	return unsupported(UNWIND_SIGNAL_FRAME);
}

static unwind_rule expected_near_register(const struct row_facts *facts)
{
	uint32_t slot = slot_of(facts);
	int64_t offset;

	for (int reg = 0; reg < 16; reg++) {
		if (!is_breg(&facts->cfa[0], reg, &offset))
			continue;
		if (reg == 11 && offset % 8 == 0 && (offset < -(1 << 17) || offset >= 1 << 17))
			return near_rule(UNWIND_RULE_PROBE, offset, slot);
		return reg == RSP   ? near_rule(UNWIND_RULE_SP, offset, slot)
		       : reg == RBP ? near_rule(UNWIND_RULE_FP, offset, slot)
				    : pair_rule(UNWIND_RULE_REGISTER, offset, (uint64_t)reg, slot);
	}
	return unsupported(UNWIND_CFA_REGISTER);
}

static bool is_register(const Dwarf_Op *op, uint64_t *number)
{
	*number = op->atom == DW_OP_regx ? op->number : (uint64_t)op->atom - DW_OP_reg0;
	return op->atom == DW_OP_regx || (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31);
}

static unwind_rule expected_rule(const struct row_facts *facts)
{
	uint32_t slot = slot_of(facts);
	int64_t offset;
	uint64_t addend;

	if (facts->reg[2].kind == UNDEFINED)
		return unwind_rule_make(UNWIND_RULE_ROOT, 0, 0);
	if (facts->signal)
		return expected_signal(facts);
	if (!sp_is_cfa(facts))
		return unsupported(UNWIND_STACK_POINTER);
	if (facts->reg[2].nr == 1 && is_register(&facts->reg[2].ops[0], &addend))
		return facts->nr_cfa == 1 && is_breg(&facts->cfa[0], RSP, &offset)
			       ? pair_rule(UNWIND_RULE_LINK, offset, addend, slot)
			       : unsupported(UNWIND_RETURN_ADDRESS);
	if (!is_saved(facts, 2, &offset) || offset != -8)
		return unsupported(UNWIND_RETURN_ADDRESS);

	if (facts->nr_cfa == 1)
		return expected_near_register(facts);
	if (is_plt(facts, &offset))
		return unwind_rule_make(UNWIND_RULE_PLT, (int32_t)offset, slot);
	if (is_deref(facts, RSP, &offset, &addend))
		return pair_rule(UNWIND_RULE_AT_SP, offset, addend, slot);
	if (is_deref(facts, RBP, &offset, &addend))
		return pair_rule(UNWIND_RULE_AT_FP, offset, addend, slot);
	return unsupported(UNWIND_CFA_EXPRESSION);
}

static bool agrees(unwind_rule rule, const struct row_facts *facts)
{
	return rule == expected_rule(facts);
}

#else

/* Each word is its own address, with something to tell it from one. */
static bool read_own_address(void *arg, uint64_t address, uint64_t *word)
{
	(void)arg;
	*word = address ^ UINT64_C(0x500000000000);
	return true;
}

static uint64_t word_at(uint64_t address)
{
	uint64_t word;

	read_own_address(NULL, address, &word);
	return word;
}

static bool agrees_on_fp(const struct unwind_frame *caller, const struct row_facts *facts,
			 uint64_t cfa, uint64_t fp)
{
	int64_t offset;

	if (facts->reg[0].kind == SAME)
		return caller->fp == fp && !caller->fp_lost;
	if (is_saved(facts, 0, &offset))
		return caller->fp == word_at(cfa + (uint64_t)offset) && !caller->fp_lost;
	return caller->fp_lost;
}

static bool agrees(unwind_rule rule, const struct row_facts *facts)
{
	struct unwind_frame frame = {
		.pc = 0x400000, .sp = 0x10000000, .fp = 0x20000000, .link = 0x7777, .exact = true
	};
	const uint64_t sp = frame.sp, fp = frame.fp;
	const bool is_in_link = facts->reg[2].kind == SAME;
	int64_t offset = 0, saved = 0;
	const bool is_by_sp = facts->nr_cfa == 1 && is_breg(&facts->cfa[0], RSP, &offset);
	uint64_t cfa, pc;

	if (facts->reg[2].kind == UNDEFINED)
		return unwind_rule_kind(rule) == UNWIND_RULE_ROOT;
	if (facts->signal)
		return rule == unsupported(UNWIND_SIGNAL_FRAME);
	if (!sp_is_cfa(facts))
		return rule == unsupported(UNWIND_STACK_POINTER);
	if (is_in_link ? !is_by_sp : !is_saved(facts, 2, &saved)) /* as in rawmemchr(): x15 */
		return rule == unsupported(UNWIND_RETURN_ADDRESS);
	if (facts->nr_cfa != 1)
		return rule == unsupported(UNWIND_CFA_EXPRESSION);
	if (!is_by_sp && !is_breg(&facts->cfa[0], RBP, &offset))
		return rule == unsupported(UNWIND_CFA_REGISTER);
	cfa = (is_by_sp ? sp : fp) + (uint64_t)offset;
	pc = is_in_link ? frame.link : word_at(cfa + (uint64_t)saved);
	if (cfa <= sp && !is_in_link) /* glibc's tlsdesc functions say that */
		return unwind_step(&frame, rule, read_own_address, NULL) != UNWIND_MORE;
	return !unwind_step(&frame, rule, read_own_address, NULL) && frame.sp == cfa &&
	       frame.pc == pc && agrees_on_fp(&frame, facts, cfa, fp);
}

#endif

/* --- whole files ------------------------------------------------------------------- */

struct tally {
	size_t functions, rows, by_register, unsupported, lost_fp, different;
};

static void compare(Dwarf_CFI *cfi, const struct unwind_image *image, Dwarf_Addr pc,
		    struct row_facts *facts, struct tally *tally)
{
	struct unwind_row row;

	unwind_cfi_find(image, pc, &row);
	cr_assert(row.start <= pc && pc < row.end);
	if (!ask_libdw(cfi, pc, facts)) {
		facts->end = row.end;
		tally->different += unwind_rule_kind(row.rule) < UNWIND_RULE_UNSUPPORTED;
		return;
	}

	tally->rows++;
	tally->unsupported += unwind_rule_kind(row.rule) == UNWIND_RULE_UNSUPPORTED;
	tally->by_register += unwind_rule_kind(row.rule) == UNWIND_RULE_REGISTER;
	tally->lost_fp += unwind_rule_kind(row.rule) < UNWIND_RULE_ROOT &&
			  unwind_rule_fp(row.rule) == UNWIND_FP_LOST;
	if (!agrees(row.rule, facts) || row.end != facts->end) {
		tally->different++;
		if (tally->different < 10)
			cr_log_error("%#lx: rule %#x up to %#lx, libdw has another, up to %#lx",
				     (unsigned long)pc, row.rule, (unsigned long)row.end,
				     (unsigned long)facts->end);
	}
}

static void compare_function(Dwarf_CFI *cfi, const struct unwind_image *image, Dwarf_Addr start,
			     struct tally *tally)
{
	struct unwind_row function;
	struct row_facts facts;

	tally->functions++;
	cr_assert(unwind_cfi_function(image, start, &function));
	for (Dwarf_Addr pc = start; pc < function.end; pc = facts.end)
		compare(cfi, image, pc, &facts, tally);
}

/* Every FDE that libdw can list. */
static void compare_all(Elf *elf, Dwarf_CFI *cfi, const struct module_cfi *ours,
			struct tally *tally)
{
	const struct unwind_block *frame = &ours->image.frame;
	Elf_Data data = { .d_buf = (void *)frame->bytes, .d_size = frame->size };
	unsigned char ident[EI_NIDENT];
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;

	memcpy(ident, elf_getident(elf, NULL), EI_NIDENT);
	while (!dwarf_next_cfi(ident, &data, true, offset, &next, &entry)) {
		if (!dwarf_cfi_cie_p(&entry)) {
			/* All the compilers here write pc relative, 4 bytes. */
			int32_t relative;

			memcpy(&relative, entry.fde.start, sizeof(relative));
			compare_function(cfi, &ours->image,
					 frame->address +
						 (uint64_t)(entry.fde.start - frame->bytes) +
						 (uint64_t)(int64_t)relative,
					 tally);
		}
		if (next == (Dwarf_Off)-1)
			break;
		offset = next;
	}
}

static struct tally compare_file(const char *path)
{
	struct modules modules = { 0 };
	struct module *module = module_get(&modules, &(struct module_request){ .path = path });
	struct module_cfi ours;
	struct tally tally = { 0 };

	cr_assert(ge(int, module->fd, 0), "%s", path);
	module_cfi_load(&ours, module);
	file_part_need(&ours.hdr, 0, SIZE_MAX);
	file_part_need(&ours.frame, 0, SIZE_MAX);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(module->fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	cr_assert(ne(ptr, cfi, NULL));
	compare_all(elf, cfi, &ours, &tally);

	dwarf_cfi_end(cfi);
	elf_end(elf);
	module_cfi_release(&ours);
	modules_release(&modules);
	return tally;
}

static const struct {
	char path[64];
	size_t functions_min;
	size_t unsupported_max; /* rows; 0 on x86-64: fewer than one in a thousand */
} files[] = {
#ifdef __x86_64__
	{ "/lib/x86_64-linux-gnu/libc.so.6", 3000, 0 },	       /* a signal frame, _start */
	{ "/lib64/ld-linux-x86-64.so.2", 200, 0 },	       /* frames kept in rbx */
	{ "/lib/x86_64-linux-gnu/libstdc++.so.6", 4000, 0 },   /* landing pads */
	{ "/lib/x86_64-linux-gnu/libcrypto.so.3", 5000, 0 },   /* assembly by hand */
	{ "/usr/bin/python3", 5000, 0 },		       /* no PIE */
	{ "/usr/lib/x86_64-linux-gnu/libx265.so.199", 50, 0 }, /* realigned frames */
	{ "/usr/bin/node", 50000, 0 },			       /* V8's builtins have none */
	{ "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", 50000, 0 },
#else
	{ "/lib/aarch64-linux-gnu/libc.so.6", 3000, 4 }, /* rawmemchr() returns by x15 */
	{ "/lib/ld-linux-aarch64.so.1", 200, 5 },	 /* _dl_tlsdesc_*() by hand */
	{ "/lib/aarch64-linux-gnu/libgcc_s.so.1", 100, 0 },
	{ "/lib/aarch64-linux-gnu/libstdc++.so.6", 4000, 0 },
	{ "/usr/lib/aarch64-linux-gnu/libsqlite3.so.0", 1500, 0 },
	{ "/usr/lib/aarch64-linux-gnu/libcrypto.so.3", 5000, 0 },
#endif
	{ "/proc/self/exe", 100, 0 },
};

static size_t unsupported_max(const __typeof__(files[0]) *file, const struct tally *tally)
{
#ifdef __x86_64__
	(void)file;
	return (tally->rows - 1) / 1000;
#else
	(void)tally;
	return file->unsupported_max;
#endif
}

ParameterizedTestParameters(cfi_oracle, rows_of_real_files_equal_those_of_libdw)
{
	return cr_make_param_array(__typeof__(files[0]), (void *)files,
				   sizeof(files) / sizeof(files[0]));
}

ParameterizedTest(const __typeof__(files[0]) *file, cfi_oracle,
		  rows_of_real_files_equal_those_of_libdw)
{
	if (access(file->path, R_OK))
		cr_skip_test("%s is not here", file->path);

	struct tally tally = compare_file(file->path);
	cr_log_info("%s: %zu functions, %zu rows, %.3f %% by another register, "
		    "%zu (%.4f %%) unsupported, %.3f %% lose the frame pointer",
		    file->path, tally.functions, tally.rows,
		    100.0 * (double)tally.by_register / (double)tally.rows, tally.unsupported,
		    100.0 * (double)tally.unsupported / (double)tally.rows,
		    100.0 * (double)tally.lost_fp / (double)tally.rows);
	cr_expect(eq(sz, tally.different, 0));
	cr_expect(ge(sz, tally.functions, file->functions_min));
	cr_expect(le(sz, tally.unsupported, unsupported_max(file, &tally)));
}
