/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <sys/mman.h>

#include "shim/stack.h"

#define PAGE UINT64_C(4096)
#define PAGES 10

static struct stack stack;
static uint64_t
	memory; /* PAGES of it; the 8th cannot be read, and there is nothing after the last */
static uint64_t word;

static void set_up(void)
{
	char *all = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(all + 7 * PAGE, PAGE, PROT_NONE);
	munmap(all + PAGES * PAGE, PAGE);
	memory = (uintptr_t)all;
}

TestSuite(shim_stack, .init = set_up);

Test(shim_stack, readable_memory_ends_at_what_is_protected_or_not_there)
{
	cr_expect(eq(u64, stack_readable(memory, 100 * PAGE), 7 * PAGE));
	cr_expect(eq(u64, stack_readable(memory, 2 * PAGE), 2 * PAGE));
	cr_expect(zero(u64, stack_readable(memory + 7 * PAGE, PAGE)));
	cr_expect(eq(u64, stack_readable(memory + 8 * PAGE, 100 * PAGE), 2 * PAGE));
}

Test(shim_stack, its_own_part_grows_down_with_sp_and_stays)
{
	uint64_t top = memory + 7 * PAGE;

	stack_init(&stack, top);
	stack_enter(&stack, top - 100);
	cr_expect(stack_read(&stack, top - 8, &word));
	cr_expect(not(stack_read(&stack, top, &word)));
	cr_expect(not(stack_read(&stack, top - 12, &word)));
	stack_enter(&stack, memory + 16);
	cr_expect(stack_read(&stack, memory + 16, &word));
	stack_enter(&stack, top - 16);
	cr_expect(eq(u64, stack.low, memory));
	cr_expect(zero(u64, stack.other_high));
}

Test(shim_stack, another_stack_is_read_page_by_page_and_forgotten)
{
	stack_init(&stack, memory + PAGES * PAGE);
	stack_enter(&stack, memory + 64);
	cr_expect(eq(u64, stack.low, stack.high));
	cr_expect(stack_read(&stack, memory + 64, &word));
	cr_expect(not(stack_read(&stack, memory + 56, &word)));
	cr_expect(stack_read(&stack, memory + 3 * PAGE + 8, &word));
	cr_expect(not(stack_read(&stack, memory + 7 * PAGE, &word)));
	cr_expect(not(stack_read(&stack, memory + 8 * PAGE, &word)));
	stack_enter(&stack, memory + 9 * PAGE);
	cr_expect(not(stack_read(&stack, memory + 3 * PAGE + 8, &word)));
	cr_expect(stack_read(&stack, memory + 9 * PAGE, &word));
}

Test(shim_stack, a_walk_goes_on_from_a_signal_stack_to_the_own_one)
{
	stack_init(&stack, memory + PAGES * PAGE);
	stack_enter(&stack, memory + PAGE);
	stack_continue(&stack, memory + 8 * PAGE + 24);
	cr_expect(stack_read(&stack, memory + 8 * PAGE + 24, &word));
	cr_expect(stack_read(&stack, memory + PAGES * PAGE - 8, &word));
	cr_expect(stack_read(&stack, memory + PAGE, &word));
}

static void *check_thread(void *arg)
{
	uint64_t here = (uintptr_t)__builtin_frame_address(0), top = stack_top();

	(void)arg;
	stack_init(&stack, top);
	stack_enter(&stack, here);
	return (void *)(uintptr_t)(here < top && top - here < 100000 && stack.low <= here &&
				   stack_read(&stack, top - 8, &word));
}

Test(shim_stack, the_top_of_every_thread_is_above_its_frames)
{
	pthread_t thread;
	void *good;

	pthread_create(&thread, NULL, check_thread, NULL);
	pthread_join(thread, &good);
	cr_expect(good != NULL);
	cr_expect(check_thread(NULL) != NULL);
}
