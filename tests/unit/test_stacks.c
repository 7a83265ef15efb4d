/* SPDX-License-Identifier: MIT */
#include <signal.h>

#include "own_stack.h"

TestSuite(stacks, .init = map_self, .fini = unmap_self);

Test(stacks, equals_backtrace_through_100_frames_without_frame_pointers)
{
	recurse(100);
	cr_assert(gt(sz, stack.nr, 100));
	expect_equal();
}

Test(stacks, equals_backtrace_across_a_signal_handler)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	cr_assert(gt(sz, stack.nr, 5));
	expect_equal();
}

static struct stack in_handler;

/* As if sampled behind the system call of rt_sigreturn(): where sp is, seen from the ucontext, and
 * pc from the start. */
#if defined(__x86_64__)
enum {
	RETURN_SP = 0, /* it has popped its own address */
	RETURN_PC = 9, /* behind mov $15, %rax; syscall */
};
#else
enum {
	RETURN_SP = -(int)sizeof(siginfo_t),
	RETURN_PC = 8, /* behind mov x8, #139; svc #0 */
};
#endif

static void sample_return(int signal, siginfo_t *info, void *context)
{
	struct stack_registers registers = {
		.pc = (uint64_t)__builtin_return_address(0) + RETURN_PC,
		.sp = (uint64_t)context + RETURN_SP,
	};
	uint64_t size = (uint64_t)__libc_stack_end - registers.sp;

	(void)signal;
	(void)info;
	sample();
	in_handler = stack;
	copy_stack(copy, registers.sp, size);
	stacks_walk(
		stacks, &space,
		&(struct stack_sample){ .registers = &registers, .bytes = copy, .nr_bytes = size },
		&stack);
}

Test(stacks, walks_from_the_return_of_a_signal_handler)
{
	struct sigaction action = { .sa_sigaction = sample_return, .sa_flags = SA_SIGINFO };
	size_t inside;

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	cr_assert(eq(int, (int)stack.end, UNWIND_END_ROOT));
	cr_assert(gt(sz, in_handler.nr, stack.nr));
	inside = in_handler.nr - stack.nr;
	for (size_t i = 1; i < stack.nr; i++)
		cr_expect(eq(u64, stack.frames[i].pc, in_handler.frames[inside + i].pc));
}

Test(stacks, looks_callers_up_at_the_call_and_the_leaf_at_its_pc)
{
	recurse(3);
	for (size_t i = 0; i < stack.nr; i++) {
		const struct stack_frame *frame = &stack.frames[i];
		const struct mapping *mapping = space_find(&space, frame->pc);

		cr_assert(ne(ptr, (void *)mapping, NULL));
		cr_expect(eq(ptr, (void *)frame->module, mapping->module));
		cr_expect(eq(u64, frame->address, frame->pc - mapping->bias - (i ? 1 : 0)));
	}
}

Test(stacks, says_that_the_copy_was_too_small)
{
	copy_size = 8192;
	recurse(1000);
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
	cr_expect(gt(sz, stack.nr, 10));
	cr_expect(lt(sz, stack.nr, 1000));
	cr_expect(ne(ptr, (void *)stack.end_module, NULL));
}

Test(stacks, says_that_no_stack_was_copied)
{
	copy_size = 0;
	recurse(3);
	cr_expect(eq(int, (int)stack.end, UNWIND_END_NO_STACK));
	cr_expect(eq(sz, stack.nr, 1));
}

Test(stacks, keeps_both_sides_of_a_stack_that_is_too_deep)
{
	struct stack_frame leaf, root;

	recurse(0);
	root = stack.frames[stack.nr - 1];
	leaf = stack.frames[1];
	recurse(1200);
	cr_assert(eq(int, (int)stack.end, UNWIND_END_ROOT));
	cr_assert(eq(sz, stack.nr, STACK_FRAMES_MAX));
	cr_expect(gt(sz, stack.elided, 1200 - STACK_FRAMES_MAX));
	cr_expect(lt(sz, stack.elided, 1300 - STACK_FRAMES_MAX));
	cr_expect(eq(u64, stack.frames[1].pc, leaf.pc));
	cr_expect(eq(u64, stack.frames[stack.nr - 1].pc, root.pc));
	/* All frames around the gap are the recursion's. */
	cr_expect(eq(u64, stack.frames[stack.elided_at - 1].pc, stack.frames[10].pc));
	cr_expect(eq(u64, stack.frames[stack.elided_at].pc, stack.frames[10].pc));
	cr_expect(eq(u64, stack.frames[STACK_FRAMES_MAX - 100].pc, stack.frames[10].pc));
}

#ifdef __x86_64__
extern const char entry_without_cfi[], plt_without_cfi[], middle_without_cfi[], after_clone[];
asm(".text\n"
    "entry_without_cfi: endbr64\n"
    "middle_without_cfi: push %rax\n"
    "	ret\n"
    "plt_without_cfi: jmp *entry_without_cfi(%rip)\n"
    "	syscall\n"
    "after_clone: test %rax, %rax\n"
    "	je 1f\n"
    "	ret\n"
    "1:	.cfi_startproc\n"
    "	.cfi_undefined rip\n"
    "	hlt\n"
    "	.cfi_endproc\n");

static uint64_t result_register;

static bool has_its_caller(const char *pc)
{
	uint64_t words[] = { (uintptr_t)sample + 1, 0 };
	const struct stack_registers registers = { .pc = (uintptr_t)pc,
						   .sp = 0x7000,
						   .general = { result_register },
						   .has_general = true };

	stacks_walk(stacks, &space,
		    &(struct stack_sample){
			    .registers = &registers, .bytes = words, .nr_bytes = sizeof(words) },
		    &stack);
	return stack.nr > 1 && stack.frames[1].pc == words[0];
}

Test(stacks, knows_the_caller_where_a_function_without_cfi_begins)
{
	cr_expect(has_its_caller(entry_without_cfi));
	cr_expect(has_its_caller(plt_without_cfi));
	cr_expect(not(has_its_caller(middle_without_cfi)));
}

Test(stacks, tells_a_new_thread_from_the_one_that_made_it)
{
	result_register = 4711;
	cr_expect(has_its_caller(after_clone));
	result_register = 0;
	cr_expect(not(has_its_caller(after_clone)));
	cr_expect(eq(int, (int)stack.end, UNWIND_END_ROOT));
}
#endif

Test(stacks, has_the_leaf_even_where_nothing_is_mapped)
{
	struct stack_registers registers = { .pc = 0x10, .sp = 0x1000 };

	stacks_walk(stacks, &space,
		    &(struct stack_sample){
			    .registers = &registers, .bytes = "12345678", .nr_bytes = 8 },
		    &stack);
	cr_assert(eq(sz, stack.nr, 1));
	cr_expect(eq(u64, stack.frames[0].pc, 0x10));
	cr_expect(eq(ptr, (void *)stack.frames[0].module, NULL));
	cr_expect(eq(int, (int)stack.end, UNWIND_END_NO_MODULE));
}

Test(stacks, evaluates_a_row_once)
{
	volatile int rounds = 2; /* not unrolled: one call */
	uint64_t evaluated[2] = { 0 };

	for (int i = 0; i < rounds; i++) {
		recurse(20);
		evaluated[i] = stacks_figures(stacks).evaluated;
	}
	cr_expect(gt(u64, evaluated[0], 0));
	cr_expect(eq(u64, evaluated[1], evaluated[0]));
	cr_expect(eq(u64, stacks_figures(stacks).walks, 2));
}
