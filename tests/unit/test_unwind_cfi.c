/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "cfi_made.h"
#include "toy_rule.h"
#include "unwind/cfi.h"

static void expect_row(const struct builder *frame, uint64_t pc, uint64_t start, uint64_t end,
		       unwind_rule expected)
{
	struct unwind_image image = image_of(frame);
	struct unwind_row row;

	unwind_cfi_find(&image, pc, &row);
	cr_expect(eq(u64, row.start, start), "at %#lx", (unsigned long)pc);
	cr_expect(eq(u64, row.end, end), "at %#lx", (unsigned long)pc);
	cr_expect(eq(u32, row.rule, expected), "at %#lx", (unsigned long)pc);
}

static void expect_rule(const struct builder *frame, uint64_t pc, unwind_rule expected)
{
	struct unwind_image image = image_of(frame);
	struct unwind_row row;

	unwind_cfi_find(&image, pc, &row);
	cr_expect(eq(u32, row.rule, expected), "at %#lx", (unsigned long)pc);
}

Test(unwind_cfi, follows_a_prologue_with_frame_pointer)
{
	struct builder frame = function_of(CFI(0x41, 0x0e, 16, OFFSET | FP, 2, /* push %rbp */
					       0x43, 0x0d, FP,		       /* mov %rsp, %rbp */
					       0x02, 0x80, 0x0c, SP, 8));      /* leave */

	expect_row(&frame, CODE, CODE, CODE + 1, rule(UNWIND_RULE_SP, 1, 0));
	expect_row(&frame, CODE + 3, CODE + 1, CODE + 4, rule(UNWIND_RULE_SP, 2, 2));
	expect_row(&frame, CODE + 4, CODE + 4, CODE + 0x84, rule(UNWIND_RULE_FP, 2, 2));
	expect_row(&frame, CODE + 0xff, CODE + 0x84, CODE + 0x100, rule(UNWIND_RULE_SP, 1, 2));
}

Test(unwind_cfi, does_not_mind_registers_it_does_not_follow)
{
	struct builder frame = function_of(CFI(0x44, OFFSET | 3, 2, 0x44, OFFSET | 12, 3));

	for (uint64_t pc = CODE; pc < CODE + 0x100; pc++)
		expect_rule(&frame, pc, rule(UNWIND_RULE_SP, 1, 0));
}

Test(unwind_cfi, has_no_rule_outside_functions)
{
	struct builder frame = { .nr = 0 };

	put_cie(&frame, "", NULL, 0);
	put_fde(&frame, false, CODE, 0x10, CFI(0));
	put_fde(&frame, false, CODE + 0x20, 0x10, CFI(0));
	expect_row(&frame, CODE + 0x18, CODE + 0x10, CODE + 0x20, 0);
	expect_row(&frame, CODE - 1, 0, CODE, 0);
	expect_row(&frame, CODE + 0x30, CODE + 0x30, UINT64_MAX, 0);
	expect_rule(&frame, CODE + 0x2f, rule(UNWIND_RULE_SP, 1, 0));
}

Test(unwind_cfi, remembers_and_restores_states)
{
	struct builder frame = function_of(CFI(0x41, 0x0e, 16, 0x41, 0x0a, 0x0e, 8, /* push */
					       0x41, 0x0b, 0x41, RESTORE | FP));

	expect_rule(&frame, CODE + 1, rule(UNWIND_RULE_SP, 2, 0));
	expect_rule(&frame, CODE + 2, rule(UNWIND_RULE_SP, 1, 0));
	expect_rule(&frame, CODE + 3, rule(UNWIND_RULE_SP, 2, 0));
}

Test(unwind_cfi, restores_the_frame_pointer_to_what_the_cie_says)
{
	struct builder frame = function_of(
		CFI(OFFSET | FP, 2, 0x41, RESTORE | FP, 0x41, 0x05, FP, 3, 0x41, 0x06, FP));

	expect_rule(&frame, CODE, rule(UNWIND_RULE_SP, 1, 2));
	expect_rule(&frame, CODE + 1, rule(UNWIND_RULE_SP, 1, 0));
	expect_rule(&frame, CODE + 2, rule(UNWIND_RULE_SP, 1, 3));
	expect_rule(&frame, CODE + 3, rule(UNWIND_RULE_SP, 1, 0));
}

Test(unwind_cfi, ends_stacks_where_the_return_address_is_undefined)
{
	struct builder frame = function_of(CFI(0x07, RA));

	expect_rule(&frame, CODE, rule(UNWIND_RULE_ROOT, 0, 0));
}

#ifdef __x86_64__

Test(unwind_cfi, recognises_the_expression_of_a_plt)
{
	struct builder frame = function_of(
		CFI(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));

	expect_rule(&frame, CODE, rule(UNWIND_RULE_PLT, 11, 0));
}

Test(unwind_cfi, recognises_a_realigned_frame)
{
	struct builder frame = function_of(CFI(0x0c, 10, 0,			  /* CFA = r10 */
					       0x41, 0x10, 6, 2, 0x76, 0,	  /* rbp at (rbp) */
					       0x41, 0x0f, 3, 0x76, 0x78, 0x06)); /* *(rbp - 8) */

	expect_rule(&frame, CODE, rule(UNWIND_RULE_REGISTER, 10, 0));
	expect_rule(&frame, CODE + 1, rule(UNWIND_RULE_REGISTER, 10, UNWIND_FP_AT_FP));
	expect_rule(&frame, CODE + 2,
		    rule(UNWIND_RULE_AT_FP, unwind_rule_pair(-1, 0), UNWIND_FP_AT_FP));
}

Test(unwind_cfi, knows_how_large_the_frame_is_that_is_being_probed)
{
	/* CFA = r11 + 0x1010, then + 0x83038, then r10 + that */
	struct builder frame = function_of(
		CFI(0x0c, 11, 0x90, 0x20, 0x41, 0x0c, 11, 0xb8, 0xe0, 0x20, 0x41, 0x0d, 10));

	expect_rule(&frame, CODE, rule(UNWIND_RULE_REGISTER, unwind_rule_pair(0x1010 / 8, 11), 0));
	expect_rule(&frame, CODE + 1, rule(UNWIND_RULE_PROBE, 0x83038 / 8, 0));
	expect_rule(&frame, CODE + 2, rule(UNWIND_RULE_UNSUPPORTED, UNWIND_CFA_OFFSET, 0));
}

Test(unwind_cfi, recognises_a_cfa_saved_on_the_stack)
{
	struct builder frame = function_of(CFI(0x0f, 5, 0x77, 24, 0x06, 0x23, 8));

	expect_rule(&frame, CODE, rule(UNWIND_RULE_AT_SP, unwind_rule_pair(3, 1), 0));
}

Test(unwind_cfi, recognises_a_return_address_in_a_register)
{
	struct builder frame = function_of(CFI(0x09, 16, 5, 0x0e, 0)); /* pop %rdi */

	expect_rule(&frame, CODE, rule(UNWIND_RULE_LINK, unwind_rule_pair(0, 5), 0));
}

Test(unwind_cfi, recognises_the_signal_frame_of_the_kernel)
{
	static const uint8_t instructions[] = { 0x0f, 4,  0x77, 0xa0, 0x01, 0x06, /* *(rsp + 160) */
						0x10, 6,  3,	0x77, 0xf8, 0x00, /* rbp */
						0x10, 7,  3,	0x77, 0xa0, 0x01, /* rsp */
						0x10, 16, 3,	0x77, 0xa8, 0x01 }; /* rip */
	struct builder frame = { .nr = 0 };

	put_cie(&frame, "zS", NULL, 0);
	put_fde(&frame, true, CODE, 0x10, instructions, sizeof(instructions));
	expect_rule(&frame, CODE, rule(UNWIND_RULE_SIGNAL, 20, 0));
}

#else

/* Where calls leave the return address in a register, functions save it where they like. */

Test(unwind_cfi, knows_a_return_address_that_is_still_in_its_register)
{
	struct builder frame = function_of(
		CFI(0x08, RA, 0x0e, 0, 0x41, 0x0e, 0xa0, 0xa2, 0x0c)); /* sub sp, sp, #200992 */

	expect_rule(&frame, CODE, unwind_rule_make(UNWIND_RULE_LINK, 0, 0));
	expect_rule(&frame, CODE + 1, unwind_rule_make(UNWIND_RULE_LINK, 200992 / 8, 0));
}

Test(unwind_cfi, knows_a_frame_record)
{
	struct builder frame = function_of(CFI(0x0e, 48, OFFSET | FP, 6, OFFSET | RA,
					       5,	       /* stp x29, x30, [sp, -48]! */
					       0x41, 0x0d, FP, /* mov x29, sp */
					       0x41, 0x0c, SP, 0, RESTORE | FP, 0x08, RA));
	int32_t pair = unwind_rule_pair(6, UNWIND_RETURN_BY_FP);

	expect_rule(&frame, CODE, unwind_rule_make(UNWIND_RULE_SP, pair, 6));
	expect_rule(&frame, CODE + 1, unwind_rule_make(UNWIND_RULE_FP, pair, 6));
	expect_rule(&frame, CODE + 2, unwind_rule_make(UNWIND_RULE_LINK, 0, 0));
}

Test(unwind_cfi, knows_a_return_address_without_a_frame_pointer_beside_it)
{
	struct builder frame = function_of(CFI(0x0e, 32, OFFSET | RA, 4, /* str x30, [sp, -32]! */
					       0x41, 0x0e, 0x80, 2, OFFSET | RA, 28));

	expect_rule(&frame, CODE,
		    unwind_rule_make(UNWIND_RULE_SP, unwind_rule_pair(4, 4), UNWIND_FP_SAME));
	expect_rule(
		&frame, CODE + 1,
		unwind_rule_make(UNWIND_RULE_SP, unwind_rule_pair(32, UNWIND_RETURN_ALONE), 28));
}

Test(unwind_cfi, knows_large_frames_with_the_return_address_at_the_other_end)
{
	struct builder frame = function_of(
		CFI(0x0e, 0xa0, 0xa2, 0x0c, /* sub sp, sp, #200992 */
		    OFFSET | FP, 0xa4, 0xc4, 0x01, OFFSET | RA, 0xa3, 0xc4, 0x01, /* at sp */
		    0x41, 0x0d, FP,						  /* mov x29, sp */
		    0x41, 0x0c, SP, 0xa0, 0xa2, 0x0c, RESTORE | FP, /* x29 left alone */
		    0x41, OFFSET | FP, 3));			    /* and somewhere else */

	expect_rule(&frame, CODE,
		    unwind_rule_make_near(UNWIND_RULE_SP, 200992 / 16, 1, UNWIND_NEAR_FP_BELOW));
	expect_rule(&frame, CODE + 1,
		    unwind_rule_make_near(UNWIND_RULE_FP, 200992 / 16, 1, UNWIND_NEAR_FP_BELOW));
	expect_rule(&frame, CODE + 2,
		    unwind_rule_make_near(UNWIND_RULE_SP, 200992 / 16, 1, UNWIND_NEAR_FP_SAME));
	expect_rule(&frame, CODE + 3,
		    unwind_rule_make_near(UNWIND_RULE_SP, 200992 / 16, 1, UNWIND_NEAR_FP_LOST));
}

Test(unwind_cfi, does_not_mind_that_return_addresses_are_signed)
{
	struct builder frame = function_of(CFI(0x41, 0x2d, 0x41, 0x0e, 16));

	expect_rule(&frame, CODE + 1, rule(UNWIND_RULE_SP, 1, 0));
	expect_row(&frame, CODE + 2, CODE + 2, CODE + 0x100, rule(UNWIND_RULE_SP, 2, 0));
}

Test(unwind_cfi, has_no_rule_for_a_cfa_of_another_kind)
{
	struct builder frame = function_of(CFI(0x0f, 5, AT_SP, 24, 0x06, 0x23, 8));

	expect_rule(&frame, CODE,
		    unwind_rule_make(UNWIND_RULE_UNSUPPORTED, UNWIND_CFA_EXPRESSION, 0));
	frame = function_of(CFI(0x0c, 12, 16)); /* CFA = x12 + 16 */
	expect_rule(&frame, CODE,
		    unwind_rule_make(UNWIND_RULE_UNSUPPORTED, UNWIND_CFA_REGISTER, 0));
}
#endif

Test(unwind_cfi, stops_with_the_reason_at_what_it_does_not_follow)
{
	struct builder frame;

	frame = function_of(CFI(0x0f, 2, 0x08, 0x10)); /* CFA = const1u */
	expect_rule(&frame, CODE, rule(UNWIND_RULE_UNSUPPORTED, UNWIND_CFA_EXPRESSION, 0));
	frame = function_of(CFI(0x0c, SP, 12));
	expect_rule(&frame, CODE, rule(UNWIND_RULE_UNSUPPORTED, UNWIND_CFA_OFFSET, 0));
	frame = function_of(CFI(0x16, RA, 1, 0x50)); /* the return address is computed */
	expect_rule(&frame, CODE, rule(UNWIND_RULE_UNSUPPORTED, UNWIND_RETURN_ADDRESS, 0));
	frame = function_of(CFI(0x09, SP, 8)); /* sp is in register 8 */
	expect_rule(&frame, CODE, rule(UNWIND_RULE_UNSUPPORTED, UNWIND_STACK_POINTER, 0));
}

Test(unwind_cfi, loses_only_a_frame_pointer_that_is_somewhere_else)
{
	struct builder frame =
		function_of(CFI(0x09, FP, 3, 0x41, 0x16, FP, 1, 0x50, 0x41, 0x07, FP));

	for (uint64_t i = 0; i < 3; i++)
		expect_rule(&frame, CODE + i, rule(UNWIND_RULE_SP, 1, UNWIND_FP_LOST));
}

Test(unwind_cfi, skips_what_does_not_matter)
{
	struct builder frame = function_of(CFI(0x2e, 16,	   /* GNU_args_size */
					       0x14, 3, 1,	   /* val_offset */
					       0x08, 12,	   /* same_value */
					       0x10, 3, 1, 0x50,   /* expression */
					       0x2f, 13, 2, 0x00,  /* negative_offset_extended */
					       0x42, 0x13, 0x7e)); /* def_cfa_offset_sf */

	expect_row(&frame, CODE, CODE, CODE + 2, rule(UNWIND_RULE_SP, 1, 0));
	expect_rule(&frame, CODE + 2, rule(UNWIND_RULE_SP, 2, 0));
}

Test(unwind_cfi, reports_damage_for_the_rest_of_the_function)
{
	struct builder frame = function_of(CFI(0x41, 0x3f));

	expect_row(&frame, CODE, CODE, CODE + 1, rule(UNWIND_RULE_SP, 1, 0));
	expect_row(&frame, CODE + 1, CODE + 1, CODE + 0x100, rule(UNWIND_RULE_DAMAGED, 0, 0));
	frame = function_of(CFI(0x0b)); /* nothing to restore */
	expect_rule(&frame, CODE, rule(UNWIND_RULE_DAMAGED, 0, 0));
	frame = function_of(CFI(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				0x80, 0)); /* a number of more than 64 bits */
	expect_rule(&frame, CODE, rule(UNWIND_RULE_DAMAGED, 0, 0));
	frame = function_of(CFI(0x0f, 0x7f, 0x77)); /* an expression longer than the FDE */
	expect_rule(&frame, CODE, rule(UNWIND_RULE_DAMAGED, 0, 0));
}

/* --- the forms of .eh_frame ------------------------------------------------------------ */

Test(unwind_cfi, reads_every_augmentation)
{
	struct builder frame = { .nr = 0 };
	/* R: pc relative, 4 bytes; P: 4-byte personality; L: LSDA; B: nothing. */
	static const uint8_t data[] = { 0x9b, 1, 2, 3, 4, 0x1b, 0x1b };
	size_t at;

	put_cie(&frame, "zPLRB", data, sizeof(data));
	at = frame.nr;
	put_u32(&frame, 0);
	put_u32(&frame, (uint32_t)frame.nr);
	put_u32(&frame, (uint32_t)(CODE - (FRAME + frame.nr)));
	put_u32(&frame, 0x40);
	put_u8(&frame, 4); /* LSDA */
	put_u32(&frame, 0x1234);
	put_u8(&frame, 0x41);
	put_u8(&frame, 0x0e);
	put_u8(&frame, 16);
	end_entry(&frame, at);
	expect_row(&frame, CODE + 1, CODE + 1, CODE + 0x40, rule(UNWIND_RULE_SP, 2, 0));
}

Test(unwind_cfi, reads_entries_with_64_bit_lengths)
{
	struct builder frame = { .nr = 0 };

	put_cie(&frame, "", NULL, 0);
	put_u32(&frame, UINT32_MAX);
	put_u64(&frame, 4 + 8 + 8);
	put_u32(&frame, (uint32_t)frame.nr);
	put_u64(&frame, CODE);
	put_u64(&frame, 0x10);
	expect_rule(&frame, CODE, rule(UNWIND_RULE_SP, 1, 0));
}

Test(unwind_cfi, ends_at_the_terminator)
{
	struct builder frame = { .nr = 0 };

	put_cie(&frame, "", NULL, 0);
	put_u32(&frame, 0);
	put_fde(&frame, false, CODE, 0x10, CFI(0));
	expect_row(&frame, CODE, 0, UINT64_MAX, 0);
}
