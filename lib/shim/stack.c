/* SPDX-License-Identifier: MIT */
#include "shim/stack.h"

#include "shim/sys.h"

#define PAGE UINT64_C(4096)
#define PAGES_AT_ONCE 64

/* Deeper by more than that at once is another stack. */
#define OWN_LEAP (UINT64_C(64) << 20)
/* Of another stack, this much is looked at. */
#define OTHER_MOST (UINT64_C(1) << 20)

/* Set by ld.so: where the stack pointer was when the program started. */
extern void *__libc_stack_end __attribute__((weak));

uint64_t stack_top(void)
{
	/* libc keeps what it knows of a thread just above the stack it made for it. */
	uint64_t top = (uintptr_t)__builtin_thread_pointer();

	if (sys_gettid() == sys_getpid())
		top = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
	return top & ~UINT64_C(7);
}

/* Where process_vm_readv() is refused: at least mapped. */
static long mapped_pages(uint64_t page, size_t nr)
{
	unsigned char vector[1];
	size_t i;

	for (i = 0; i < nr; i++)
		if (sys_mincore((const void *)(page + i * PAGE), PAGE, vector))
			break;
	return (long)i;
}

static long readable_pages(uint64_t page, size_t nr)
{
	char bytes[PAGES_AT_ONCE];
	struct iovec to = { bytes, nr }, from[PAGES_AT_ONCE];

	for (size_t i = 0; i < nr; i++)
		from[i] = (struct iovec){ (void *)(page + i * PAGE), 1 };
	long got = sys_read_memory(&to, from, nr);

	if (got >= 0 || got == -SYS_EFAULT)
		return got < 0 ? 0 : got;
	return mapped_pages(page, nr);
}

uint64_t stack_readable(uint64_t address, uint64_t most)
{
	uint64_t page = address / PAGE * PAGE, end = page;

	while (end < address + most) {
		size_t nr = (size_t)((address + most - end + PAGE - 1) / PAGE);
		long got;

		if (nr > PAGES_AT_ONCE)
			nr = PAGES_AT_ONCE;
		got = readable_pages(end, nr);
		end += (uint64_t)got * PAGE;
		if ((size_t)got < nr)
			break;
	}
	return end > address ? end - address : 0;
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

static void find_other(struct stack *stack, uint64_t sp)
{
	stack->other_low = sp;
	stack->other_high = (sp + stack_readable(sp, OTHER_MOST)) & ~UINT64_C(7);
}

void stack_test(struct stack *stack, uint64_t sp)
{
	stack->other_low = stack->other_high = 0;
	if (!extend_own(stack, sp))
		find_other(stack, sp);
}

void stack_continue(struct stack *stack, uint64_t sp)
{
	if (sp - stack->low >= stack->high - stack->low &&
	    sp - stack->other_low >= stack->other_high - stack->other_low && !extend_own(stack, sp))
		find_other(stack, sp);
}
