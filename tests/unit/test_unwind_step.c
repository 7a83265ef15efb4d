/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"
#include "toy_rule.h"
#include "unwind/cache.h"
#include "unwind/step.h"

/* Toy stacks: words from 0x1000 up. */

enum {
	BASE = 0x1000,
};

struct toy {
	const uint64_t *words;
	size_t nr;
};

static bool read_toy(void *arg, uint64_t address, uint64_t *word)
{
	const struct toy *toy = arg;
	uint64_t offset = address - BASE;

	if (offset % 8 || offset / 8 >= toy->nr)
		return false;
	*word = toy->words[offset / 8];
	return true;
}

#define STEP(frame, rule, ...)                                                                   \
	({                                                                                       \
		const uint64_t words_[] = { __VA_ARGS__ };                                       \
		unwind_step(frame, rule, read_toy, &(struct toy){ words_, ARRAY_SIZE(words_) }); \
	})

static void expect_frame(const struct unwind_frame *frame, uint64_t pc, uint64_t sp, uint64_t fp)
{
	cr_expect(eq(u64, frame->pc, pc));
	cr_expect(eq(u64, frame->sp, sp));
	cr_expect(eq(u64, frame->fp, fp));
}

static struct unwind_frame leaf(uint64_t sp, uint64_t fp)
{
	return (struct unwind_frame){ .pc = 0x400100, .sp = sp, .fp = fp, .exact = true };
}

static const unwind_rule chain = UNWIND_RULE_CHAIN;

Test(unwind_rule, keeps_its_parts)
{
	unwind_rule made = rule(UNWIND_RULE_SIGNAL, UNWIND_OPERAND_MIN, 509);

	cr_expect(eq(int, (int)unwind_rule_kind(made), UNWIND_RULE_SIGNAL));
	cr_expect(eq(i32, unwind_rule_operand(made), UNWIND_OPERAND_MIN));
	cr_expect(eq(u32, unwind_rule_fp(made), 509));
	made = rule(UNWIND_RULE_REGISTER, unwind_rule_pair(UNWIND_OFFSET_MIN, 15), 0);
	cr_expect(eq(i32, unwind_rule_offset(made), UNWIND_OFFSET_MIN));
	cr_expect(eq(u32, unwind_rule_small(made), 15));
	cr_expect(eq(u32, unwind_rule_register(made), 15));
	cr_expect(eq(i32, unwind_rule_register_distance(made), UNWIND_OFFSET_MIN));
	made = rule(UNWIND_RULE_PROBE, UNWIND_OPERAND_MAX, 509);
	cr_expect(eq(u32, unwind_rule_register(made), ARCH_DWARF_PROBE));
	cr_expect(eq(i32, unwind_rule_register_distance(made), UNWIND_OPERAND_MAX));
}

Test(unwind_step, returns_from_a_function_that_was_just_entered)
{
	struct unwind_frame frame = leaf(BASE, 0x77);

	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_SP, 1, 0), 0x400200), UNWIND_MORE));
	expect_frame(&frame, 0x400200, BASE + 8, 0x77);
	cr_expect(not(frame.exact));
	cr_expect(eq(u64, unwind_lookup_pc(&frame), 0x4001ff));
}

Test(unwind_step, restores_the_frame_pointer_from_its_slot)
{
	struct unwind_frame frame = leaf(BASE, 0x77);

	STEP(&frame, rule(UNWIND_RULE_SP, 4, 2), 1, 2, 0xb9, 0x400200);
	expect_frame(&frame, 0x400200, BASE + 32, 0xb9);
}

Test(unwind_step, finds_the_cfa_by_the_frame_pointer)
{
	struct unwind_frame frame = leaf(BASE, BASE + 16);

	STEP(&frame, rule(UNWIND_RULE_FP, 2, 2), 1, 2, 0xb9, 0x400200);
	expect_frame(&frame, 0x400200, BASE + 32, 0xb9);
}

Test(unwind_step, keeps_a_frame_pointer_that_was_popped_already)
{
	struct unwind_frame frame = leaf(BASE, 0x77);

	/* After pop %rbp the CFI still gives its slot, which is now below sp and not copied. */
	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_SP, 1, 2), 0x400200), UNWIND_MORE));
	expect_frame(&frame, 0x400200, BASE + 8, 0x77);
}

Test(unwind_step, resumes_exactly_where_a_signal_interrupted)
{
	enum { SP = ARCH_SIGNAL_SP_WORDS };
	/* As the kernel lays them out. */
	uint64_t words[SP + 2] = { [SP + ARCH_SIGNAL_FP_FROM_SP / ARCH_WORD] = 0xb9,
				   [SP] = 0x7000,
				   [SP + ARCH_SIGNAL_PC_FROM_SP / ARCH_WORD] = 0x400abc };
	struct unwind_frame frame = { .pc = 0x400050, .sp = BASE };
	struct toy toy = { words, ARRAY_SIZE(words) };

	cr_expect(eq(int, (int)unwind_step(&frame, rule(UNWIND_RULE_SIGNAL, SP, 0), read_toy, &toy),
		     UNWIND_MORE));
	expect_frame(&frame, 0x400abc, 0x7000, 0xb9);
	cr_expect(frame.exact);
	cr_expect(eq(u64, unwind_lookup_pc(&frame), 0x400abc));
}

Test(unwind_step, stops_at_the_root)
{
	struct unwind_frame frame = leaf(BASE, 0);

	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_ROOT, 0, 0), 1), UNWIND_END_ROOT));
	cr_expect(unwind_end_is_root(UNWIND_END_ROOT));
}

Test(unwind_step, says_when_the_copy_of_the_stack_ends)
{
	struct unwind_frame frame = leaf(BASE, 0x77);

	cr_expect(
		eq(int, (int)STEP(&frame, rule(UNWIND_RULE_SP, 4, 0), 1, 2), UNWIND_END_BAD_READ));
	expect_frame(&frame, 0x400100, BASE, 0x77); /* as it was */
	cr_expect(not(unwind_end_is_root(UNWIND_END_BAD_READ)));
}

Test(unwind_step, refuses_a_caller_that_is_not_further_up)
{
	struct unwind_frame frame = leaf(BASE + 16, BASE + 8);

	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_FP, 1, 0), 1, 2, 3),
		     UNWIND_END_SP_BACKWARD));
	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_SP, -1, 0), 1, 2, 3),
		     UNWIND_END_SP_BACKWARD));
}

Test(unwind_step, does_not_wrap_around_with_a_hostile_frame_pointer)
{
	struct unwind_frame frame = leaf(BASE, UINT64_MAX - 7);

	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_FP, 2, 2), 1, 2, 3),
		     UNWIND_END_SP_BACKWARD));
	frame = leaf(BASE, UINT64_MAX - 7);
	cr_expect(ne(int, (int)STEP(&frame, rule(UNWIND_RULE_CHAIN, 0, 0), 1, 2, 3), UNWIND_MORE));
}

Test(unwind_step, needs_the_frame_pointer_only_where_a_rule_uses_it)
{
	struct unwind_frame frame = leaf(BASE, 0x77);

	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_SP, 1, UNWIND_FP_LOST), 0x400200),
		     UNWIND_MORE));
	cr_expect(frame.fp_lost);
	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_SP, 1, 0), 1, 0x400300), UNWIND_MORE));
	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_FP, 2, 2), 1, 2, 3, 4, 5, 6),
		     UNWIND_END_FP_LOST));
}

Test(unwind_step, treats_return_address_0_as_the_bottom_of_a_stack)
{
	struct unwind_frame frame = leaf(BASE, 0x77);

	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_SP, 1, 0), 0), UNWIND_END_NULL_PC));
}

Test(unwind_step, returns_to_an_address_kept_in_a_register)
{
	int32_t by_5 = ARCH_RETURN_IS_PUSHED ? unwind_rule_pair(0, 5) : 0;
	struct unwind_frame frame = leaf(BASE, 0x77);
	struct toy toy = { 0 };

	cr_expect(eq(int,
		     (int)unwind_step_link(&frame, rule(UNWIND_RULE_LINK, by_5, 0), 0x400200,
					   read_toy, &toy),
		     UNWIND_MORE));
	expect_frame(&frame, 0x400200, BASE, 0x77);
}

Test(unwind_step, cannot_use_a_register_it_does_not_have)
{
	struct unwind_frame frame = leaf(BASE, 0x77);

	cr_expect(eq(int,
		     (int)STEP(&frame, rule(UNWIND_RULE_REGISTER, unwind_rule_pair(2, 3), 0), 1, 2),
		     UNWIND_END_UNSUPPORTED));
}

#ifdef __x86_64__

Test(unwind_step, keeps_the_frame_pointer_of_a_realigned_frame_that_was_popped)
{
	/* lea -8(%r10), %rsp: rbp is the caller's, but the CFI says it is where rbp points. */
	struct unwind_frame frame = leaf(BASE, BASE + 24);

	STEP(&frame, rule(UNWIND_RULE_SP, 2, UNWIND_FP_AT_FP), 1, 0x400200, 3, 0xbad);
	expect_frame(&frame, 0x400200, BASE + 16, BASE + 24);
}

Test(unwind_step, knows_both_halves_of_a_plt_entry)
{
	struct unwind_frame before = { .pc = 0x40010a, .sp = BASE }, after = before;

	after.pc = 0x40010b;
	STEP(&before, rule(UNWIND_RULE_PLT, 11, 0), 0x400200, 0x400300);
	STEP(&after, rule(UNWIND_RULE_PLT, 11, 0), 0x400200, 0x400300);
	expect_frame(&before, 0x400200, BASE + 8, 0);
	expect_frame(&after, 0x400300, BASE + 16, 0);
}

Test(unwind_step, follows_a_realigned_frame)
{
	struct unwind_frame frame = leaf(BASE, BASE + 16);

	/* CFA = *(fp - 8); the caller's fp is where fp points. */
	cr_expect(eq(int,
		     (int)STEP(&frame,
			       rule(UNWIND_RULE_AT_FP, unwind_rule_pair(-1, 0), UNWIND_FP_AT_FP), 1,
			       BASE + 40, 0xb9, 3, 0x400200),
		     UNWIND_MORE));
	expect_frame(&frame, 0x400200, BASE + 40, 0xb9);
}

Test(unwind_step, adds_to_a_cfa_saved_on_the_stack)
{
	struct unwind_frame frame = leaf(BASE, 0x77);

	STEP(&frame, rule(UNWIND_RULE_AT_SP, unwind_rule_pair(1, 1), 0), 1, BASE + 24, 3, 0x400200);
	expect_frame(&frame, 0x400200, BASE + 32, 0x77);
}

#else

/* Where calls leave the return address in a register, functions save it where they like. */

Test(unwind_step, finds_the_return_address_wherever_it_was_saved)
{
	static const struct {
		const char *what;
		uint32_t slot, small;
		uint64_t fp;
	} ways[] = {
		{ "above the frame pointer's", 3, UNWIND_RETURN_BY_FP, 0xb9 },
		{ "alone", 2, UNWIND_RETURN_ALONE, 0x77 },
		{ "in the second word below the CFA", UNWIND_FP_SAME, 2, 0x77 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		unwind_rule made = unwind_rule_make(
			UNWIND_RULE_SP, unwind_rule_pair(4, ways[i].small), ways[i].slot);
		struct unwind_frame frame = leaf(BASE, 0x77);

		cr_expect(eq(int, (int)STEP(&frame, made, 1, 0xb9, 0x400200, 4), UNWIND_MORE), "%s",
			  ways[i].what);
		expect_frame(&frame, 0x400200, BASE + 32, ways[i].fp);
		cr_expect(eq(u64, frame.pc_at, BASE + 16));
	}
}

Test(unwind_step, leaves_large_frames_that_have_the_return_address_at_the_other_end)
{
	enum { PAIRS = 70000 };
	unwind_rule below = unwind_rule_make_near(UNWIND_RULE_SP, PAIRS, 2, UNWIND_NEAR_FP_BELOW);
	unwind_rule alone = unwind_rule_make_near(UNWIND_RULE_SP, PAIRS, 2, UNWIND_NEAR_FP_SAME);
	unwind_rule lost = unwind_rule_make_near(UNWIND_RULE_SP, PAIRS, 2, UNWIND_NEAR_FP_LOST);
	unwind_rule by_fp = unwind_rule_make_near(UNWIND_RULE_FP, PAIRS, 1, UNWIND_NEAR_FP_BELOW);
	struct unwind_frame frame = leaf(BASE, 0x77);

	STEP(&frame, below, 1, 0xb9, 0x400200);
	expect_frame(&frame, 0x400200, BASE + 16 * PAIRS, 0xb9);
	cr_expect(eq(u64, frame.pc_at, BASE + 16));
	frame = leaf(BASE, 0x77);
	STEP(&frame, alone, 1, 0xb9, 0x400200);
	expect_frame(&frame, 0x400200, BASE + 16 * PAIRS, 0x77);
	frame = leaf(BASE, 0x77);
	STEP(&frame, lost, 1, 0xb9, 0x400200);
	cr_expect(frame.fp_lost);
	frame = leaf(BASE, BASE + 8);
	STEP(&frame, by_fp, 1, 0xb9, 0x400200);
	expect_frame(&frame, 0x400200, BASE + 8 + 16 * PAIRS, 0xb9);
}

Test(unwind_step, drops_what_authenticates_a_return_address)
{
	struct unwind_frame frame = leaf(BASE, 0x77);

	STEP(&frame, rule(UNWIND_RULE_SP, 1, 0), 0x2a55000000400200);
	expect_frame(&frame, 0x400200, BASE + 8, 0x77);
	frame = leaf(BASE, BASE);
	STEP(&frame, chain, BASE + 32, 0x2a55000000400200);
	cr_expect(eq(u64, frame.pc, 0x400200));
}

Test(unwind_step, returns_from_a_leaf_function_that_a_signal_interrupted)
{
	struct unwind_frame frame = leaf(BASE, 0x77);
	struct toy toy = { 0 };

	frame.link = 0x400200;
	cr_expect(eq(
		int,
		(int)unwind_step(&frame, unwind_rule_make(UNWIND_RULE_LINK, 2, 0), read_toy, &toy),
		UNWIND_MORE));
	expect_frame(&frame, 0x400200, BASE + 16, 0x77);
	cr_expect(zero(u64, frame.link));
}

Test(unwind_step, finds_the_cfa_by_the_frame_record_where_sp_is_not_known)
{
	struct unwind_frame frame = leaf(BASE, BASE + 8);

	frame.sp_lost = true;
	STEP(&frame, rule(UNWIND_RULE_SP, 9, 2), 1, 0xb9, 0x400200, 4);
	expect_frame(&frame, 0x400200, BASE + 24, 0xb9);
	cr_expect(not(frame.sp_lost));
	frame = leaf(BASE, BASE + 8);
	frame.sp_lost = true;
	cr_expect(eq(int, (int)STEP(&frame, rule(UNWIND_RULE_SP, 9, 0), 1, 2, 3),
		     UNWIND_END_FP_LOST));
	frame = leaf(BASE, BASE + 8);
	frame.sp_lost = true;
	STEP(&frame, unwind_rule_make_near(UNWIND_RULE_SP, 1000, 3, UNWIND_NEAR_FP_BELOW), 1, 0xb9,
	     0x400200);
	expect_frame(&frame, 0x400200, BASE + 8 + 16000 - 16, 0xb9);
}

#endif

/* --- without CFI ------------------------------------------------------------------- */

Test(unwind_chain, is_the_rule_where_there_is_no_cfi)
{
	cr_expect(eq(u32, unwind_rule_or_chain(0), chain));
	cr_expect(eq(u32, unwind_rule_or_chain(rule(UNWIND_RULE_SP, 1, 0)),
		     rule(UNWIND_RULE_SP, 1, 0)));
}

Test(unwind_chain, is_not_followed_from_a_return_address_that_begins_a_function)
{
	struct unwind_frame frame = leaf(BASE, BASE + 8);
	unwind_rule not_called = unwind_rule_in_gap(rule(UNWIND_RULE_SP, 1, 0));

	cr_expect(eq(u32, unwind_rule_or_chain(unwind_rule_in_gap(0)), chain));
	cr_expect(eq(u32, unwind_rule_or_chain(not_called), not_called));
	cr_expect(
		eq(int, (int)STEP(&frame, not_called, 1, BASE + 32, 0x400200), UNWIND_END_NO_CFI));
}

Test(unwind_chain, follows_the_frame_pointers)
{
	struct unwind_frame frame = leaf(BASE, BASE + 8);

	cr_expect(eq(int, (int)STEP(&frame, chain, 1, BASE + 32, 0x400200), UNWIND_MORE));
	expect_frame(&frame, 0x400200, BASE + 24, BASE + 32);
}

Test(unwind_chain, ends_with_frame_pointer_0)
{
	struct unwind_frame frame = leaf(BASE, 0);

	cr_expect(eq(int, (int)STEP(&frame, chain, 1), UNWIND_END_FP_ENDED));
	cr_expect(unwind_end_is_root(UNWIND_END_FP_ENDED));
}

Test(unwind_chain, does_not_believe_a_frame_pointer_below_the_stack_pointer)
{
	struct unwind_frame frame = leaf(BASE + 16, BASE + 8);

	cr_expect(eq(int, (int)STEP(&frame, chain, 1, 2, 3, 4), UNWIND_END_NO_CFI));
}

Test(unwind_chain, does_not_believe_a_frame_pointer_that_holds_other_data)
{
	struct unwind_frame frame = leaf(BASE, BASE + 5);

	cr_expect(eq(int, (int)STEP(&frame, chain, 1, 2, 3), UNWIND_END_NO_CFI));
	frame.fp = 0x7777777777777777;
	cr_expect(ne(int, (int)STEP(&frame, chain, 1, 2, 3), UNWIND_MORE));
}

Test(unwind_end, has_words_for_every_reason)
{
	for (int end = 0; end < UNWIND_NR_ENDS; end++)
		cr_expect(gt(chr, unwind_end_text((enum unwind_end)end)[0], 0), "%d", end);
	cr_expect(ne(ptr, (void *)unwind_end_text((enum unwind_end)999), NULL));
}

/* --- cache --------------------------------------------------------------------------- */

Test(unwind_cache, finds_what_was_added_and_nothing_else)
{
	struct unwind_cache_entry entries[16] = { 0 };
	struct unwind_cache cache = { entries, 4 };
	struct unwind_row row = { 0x1000, 0x1010, rule(UNWIND_RULE_SP, 3, 0) };
	unwind_rule found;

	cr_expect(not(unwind_cache_find(&cache, 0x1004, &found)));
	unwind_cache_add(&cache, 0x1004, &row);
	cr_assert(unwind_cache_find(&cache, 0x1004, &found));
	cr_expect(eq(u32, found, row.rule));
	for (uint64_t pc = 0xff0; pc < 0x1020; pc++)
		if (unwind_cache_find(&cache, pc, &found))
			cr_expect(pc >= row.start && pc < row.end);
	unwind_cache_clear(&cache);
	cr_expect(not(unwind_cache_find(&cache, 0x1004, &found)));
}

Test(unwind_cache, holds_rows_longer_than_its_fields)
{
	struct unwind_cache_entry entries[2] = { 0 };
	struct unwind_cache cache = { entries, 1 };
	struct unwind_row row = { 0, UINT64_MAX, rule(UNWIND_RULE_NONE, 0, 0) };
	unwind_rule found = 1;

	unwind_cache_add(&cache, 0x7fffffff1234, &row);
	cr_assert(unwind_cache_find(&cache, 0x7fffffff1234, &found));
	cr_expect(eq(u32, found, row.rule));
}

Test(unwind_cache, an_entry_half_written_is_a_miss)
{
	struct unwind_cache_entry entries[2] = { 0 }, old;
	struct unwind_cache cache = { entries, 1 };
	unwind_rule found;

	unwind_cache_add(&cache, 0x1000,
			 &(struct unwind_row){ 0x1000, 0x1010, rule(UNWIND_RULE_SP, 3, 0) });
	for (int i = 0; i < 2; i++) {
		old = entries[i];
		if (!old.what)
			continue;
		/* What a signal handler in between left, in the same place. */
		entries[i].what = UINT64_C(0x20) << 32 | rule(UNWIND_RULE_SP, 9, 0);
		cr_expect(not(unwind_cache_find(&cache, 0x1000, &found)));
	}
}
