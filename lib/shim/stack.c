/* SPDX-License-Identifier: MIT */
#include "shim/stack.h"

#include <sys/auxv.h>

#include "shim/sys.h"

#define PAGE UINT64_C(4096)

/* Deeper by more than that at once is another stack. */
#define OWN_LEAP (UINT64_C(64) << 20)
/* So much of another stack, between two frames. */
#define OTHER_LEAP (UINT64_C(1) << 20)

/* Set by ld.so: where the stack pointer was when the program started.  Not in musl. */
extern void *__libc_stack_end __attribute__((weak));

/* What the kernel put onto the stack is above all frames. */
static uintptr_t top_of_first(void)
{
	return &__libc_stack_end ? (uintptr_t)__libc_stack_end : getauxval(AT_RANDOM);
}

uint64_t stack_top(void)
{
	/* libc keeps what it knows of a thread just above the stack it made for it. */
	uint64_t top = (uintptr_t)__builtin_thread_pointer();

	if (sys_gettid() == sys_getpid())
		top = top_of_first();
	return top & ~UINT64_C(7);
}

uint64_t stack_readable(uint64_t page, uint64_t most)
{
	uint64_t size = 0;

	while (size < most && sys_readable((const void *)(page + size)))
		size += PAGE;
	return size;
}

/* One frame's array of several MiB is no reason for the walk to end, but the next stack is. */
static bool extend_own(struct stack *stack, uint64_t sp)
{
	uint64_t page = sp / PAGE * PAGE;

	if (sp >= stack->low || stack->low - sp > OWN_LEAP ||
	    stack_readable(page, stack->low - page) < stack->low - page)
		return false;
	stack->low = page;
	return true;
}

/* Where sp is there is memory. */
static void find_other(struct stack *stack, uint64_t sp)
{
	stack->other_low = sp;
	stack->other_high = (sp & ~(PAGE - 1)) + PAGE;
}

void stack_test(struct stack *stack, uint64_t sp)
{
	stack->other_low = stack->other_high = 0;
	if (!extend_own(stack, sp))
		find_other(stack, sp);
}

void stack_continue(struct stack *stack, uint64_t sp)
{
	if (!stack_is_own(stack, sp) && !stack_is_other(stack, sp) && !extend_own(stack, sp))
		find_other(stack, sp);
}

bool stack_extend(struct stack *stack, uint64_t address)
{
	uint64_t high = stack->other_high, need = (address & ~(PAGE - 1)) + PAGE - high;

	if (!high || address < high || need > OTHER_LEAP || stack_readable(high, need) < need)
		return false;
	stack->other_high = high + need;
	return true;
}
