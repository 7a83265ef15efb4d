/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <setjmp.h>
#include <signal.h>

#include "shim/guard.h"
#include "shim/hook.h"
#include "shim/real.h"
#include "shim_file.h"

#define NOINLINE __attribute__((noinline, noclone))

static struct shim_file file;
static volatile int levels[8];
static volatile int nr_levels;

static void set_up(void)
{
	real_find();
	shim_file_make(&file, 8);
	if (!session_open(file.path))
		cr_skip_test("no session, reason %u", file.head->reason);
}

TestSuite(shim_guard, .init = set_up);

/* A hook: notes its level, and calls `inside` in the given phase. */
NOINLINE GUARD_HOOK static void hook(enum guard_phase phase, void (*inside)(void))
{
	const uintptr_t *frame = FRAME;
	int level = guard_enter(frame, phase);

	levels[nr_levels++] = level;
	if (inside)
		inside();
	if (level != GUARD_OUT)
		guard_leave(level);
	__asm__ volatile("" ::: "memory");
}

static void plain(void)
{
	hook(GUARD_REAL, NULL);
}

static void raise_signal(void)
{
	raise(SIGUSR1);
}

static void on_signal(void (*handler)(int), int flags)
{
	static char alt[1 << 16];
	stack_t stack = { .ss_sp = alt, .ss_size = sizeof(alt) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags | SA_NODEFER };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
}

static void call_hook(int number)
{
	(void)number;
	hook(GUARD_REAL, NULL);
}

Test(shim_guard, calls_in_a_row_count)
{
	plain();
	plain();
	cr_expect(eq(int, nr_levels, 2));
	cr_expect(eq(int, levels[0], 0));
	cr_expect(eq(int, levels[1], 0));
}

Test(shim_guard, what_the_allocator_calls_does_not_count)
{
	hook(GUARD_REAL, plain);
	plain();
	cr_expect(eq(int, levels[0], 0));
	cr_expect(eq(int, levels[1], GUARD_OUT));
	cr_expect(eq(int, levels[2], 0));
}

static void check_handler_counts(enum guard_phase phase, int flags)
{
	on_signal(call_hook, flags);
	hook(phase, raise_signal);
	plain();
	cr_expect(eq(int, levels[0], 0));
	cr_expect(eq(int, levels[1], 1));
	cr_expect(eq(int, levels[2], 0));
}

Test(shim_guard, a_handler_that_interrupts_the_allocator_counts)
{
	check_handler_counts(GUARD_REAL, 0);
}

Test(shim_guard, a_handler_that_interrupts_the_shim_counts)
{
	check_handler_counts(GUARD_OURS, 0);
}

Test(shim_guard, a_handler_on_its_own_stack_counts)
{
	check_handler_counts(GUARD_OURS, SA_ONSTACK);
}

static void nest(int number)
{
	(void)number;
	hook(GUARD_OURS, nr_levels < 5 ? raise_signal : NULL);
}

Test(shim_guard, deeper_than_there_are_levels_is_forwarded)
{
	on_signal(nest, 0);
	hook(GUARD_OURS, raise_signal);
	cr_expect(eq(int, levels[1], 1));
	cr_expect(eq(int, levels[2], 2));
	cr_expect(eq(int, levels[3], GUARD_OUT));
	cr_expect(eq(int, levels[4], GUARD_OUT));
}

static sigjmp_buf back;

static void jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void call_deeper(void)
{
	char room[300];

	__asm__ volatile("" ::"r"(room) : "memory");
	plain();
}

static void check_jump(enum guard_phase phase, int flags, void (*after)(void))
{
	on_signal(jump, flags);
	if (!sigsetjmp(back, 1))
		hook(phase, raise_signal);
	after();
	cr_expect(eq(int, levels[0], 0));
	cr_expect(eq(int, levels[1], 0));
}

Test(shim_guard, a_hook_that_a_handler_jumped_out_of_is_over)
{
	check_jump(GUARD_REAL, 0, plain);
}

Test(shim_guard, and_so_it_is_for_a_deeper_call)
{
	check_jump(GUARD_REAL, 0, call_deeper);
}

Test(shim_guard, and_out_of_the_middle_of_the_shim)
{
	check_jump(GUARD_OURS, SA_ONSTACK, call_deeper);
}
