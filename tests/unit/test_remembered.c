/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "record/stacks/remembered.h"

static struct remembered remembered;
static const struct module *const module = (const struct module *)0x1000;

static bool see(uint64_t thread, uint64_t sp, uint64_t callers)
{
	return remembered_callers(
		remembered_of(&remembered, thread),
		&(struct remembered_frame){
			.module = module, .function = 0x400, .sp = sp, .callers = callers });
}

Test(remembered, callers_are_usual_when_they_were_the_same_some_times_in_a_row)
{
	for (int i = 1; i <= 10; i++)
		cr_expect(eq(int, see(1, 0x7000, 5), i >= REMEMBERED_USUAL), "the %d. time", i);
}

Test(remembered, other_callers_in_between_start_anew)
{
	for (int i = 0; i < 10; i++)
		see(1, 0x7000, 5);
	cr_expect(not(see(1, 0x7000, 6)));
	cr_expect(not(see(1, 0x7000, 5)));
}

Test(remembered, callers_that_take_turns_are_never_usual)
{
	for (uint64_t i = 0; i < 100; i++)
		cr_expect(not(see(1, 0x7000, i / 2 % 2)));
}

Test(remembered, threads_and_places_have_their_own)
{
	for (int i = 1; i < REMEMBERED_USUAL; i++)
		see(1, 0x7000, 5);
	cr_expect(not(see(2, 0x7000, 5)));
	cr_expect(not(see(1, 0x7800, 5)));
}

/* main, and the function that it called, leaf first. */
static struct remembered_stack put(struct remembered_stack stack, const struct walked *main_frame)
{
	struct walked frames[] = { { .frame.pc = 0x500, .sp = 0x7000, .return_at = 0 },
				   *main_frame };

	remembered_put(&stack, &(struct walked_vec){ .at = frames, .nr = 2 });
	return stack;
}

Test(remembered, frames_found_another_way_are_those_of_the_last_time)
{
	const struct walked plain = {
		.frame.pc = 0x400, .sp = 0x7100, .fp = 0x7200, .return_at = 0x70f8
	};
	struct walked saved = plain, lost = plain;
	struct remembered_stack stack = { 0 };

	saved.fp_at = 0x70f0;
	lost.fp_lost = true;
	stack = put(stack, &lost);
	stack = put(stack, &plain);
	cr_expect(not(stack.frames.at[0].fp_lost));
	stack = put(stack, &saved);
	cr_expect(eq(u64, stack.frames.at[0].fp_at, 0x70f0));
	vec_free(&stack.frames);
}
