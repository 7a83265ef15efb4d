/* SPDX-License-Identifier: MIT */
/*
 * stack - which part of memory may be read as the stack of this thread.
 *
 *	stack_init(&stack, top);		// once per thread; top: see stack_top()
 *	stack_enter(&stack, sp);		// before each walk
 *	if (stack_read(&stack, address, &word))
 *		...;				// address is in [sp, top): the read cannot fault
 *
 * A thread's own stack is what lies between sp and its top.  It is tested a page at a time as it
 * gets deeper, and then known.  Any other sp is on a signal stack or a coroutine's: from there
 * upwards each walk tests anew the pages that it comes to, since such stacks come and go.  Testing
 * is to let the kernel read, by one of two system calls that sandboxes let through; nothing asks how
 * large the stack is, which libc could not tell without allocating.
 */
#ifndef SHIM_STACK_H
#define SHIM_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct stack {
	uint64_t low, high;		/* own, tested */
	uint64_t other_low, other_high; /* the other one of this walk */
};

/* The address above the calling thread's own stack, 0 if unknown. */
uint64_t stack_top(void);

static inline void stack_init(struct stack *stack, uint64_t top)
{
	*stack = (struct stack){ .low = top, .high = top };
}

/* Finds out what may be read from sp on. */
void stack_test(struct stack *stack, uint64_t sp);

static inline void stack_enter(struct stack *stack, uint64_t sp)
{
	if (__builtin_expect(sp < stack->low || sp >= stack->high, 0))
		stack_test(stack, sp);
	else
		stack->other_low = stack->other_high = 0;
}

/* On the own stack: what can be read there can be read from now on. */
static inline bool stack_is_own(const struct stack *stack, uint64_t address)
{
	return address - stack->low < stack->high - stack->low;
}

static inline bool stack_is_other(const struct stack *stack, uint64_t address)
{
	return address - stack->other_low < stack->other_high - stack->other_low;
}

/* From sp on all words up to there can be read, without further tests. */
static inline uint64_t stack_end(const struct stack *stack, uint64_t sp)
{
	if (sp % sizeof(uint64_t))
		return sp;
	if (stack_is_own(stack, sp))
		return stack->high;
	return stack_is_other(stack, sp) ? stack->other_high : sp;
}

/* The walk goes on at sp, out of a signal handler: maybe on another stack, maybe deeper than known.
 */
void stack_continue(struct stack *stack, uint64_t sp);

/* Tests a page of the other stack, if address is on its next one. */
bool stack_extend(struct stack *stack, uint64_t address);

/* Sets *word to the 8 bytes at address; false if they are not known to be stack.  An unwind_read.
 */
static inline bool stack_read(void *arg, uint64_t address, uint64_t *word)
{
	struct stack *stack = arg;

	if (address % sizeof(*word))
		return false;
	if (!stack_is_own(stack, address) && !stack_is_other(stack, address) &&
	    !stack_extend(stack, address))
		return false;
	*word = *(const volatile uint64_t *)address;
	return true;
}

/* How many bytes from `page` on, which is one, can be read, up to `most`. */
uint64_t stack_readable(uint64_t page, uint64_t most);

#endif
