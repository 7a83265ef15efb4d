/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <execinfo.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "record/stacks/stacks.h"

/* Samples of this very process, as perf would deliver them. */

enum {
	COPY_MAX = 1 << 20,
};

static struct modules modules;
static struct space space;
static struct stacks *stacks;
static struct stack stack;

static void map_line(const char *line)
{
	unsigned long long start, end, pgoff, inode;
	unsigned int device_major, device_minor;
	char permissions[8], path[4096] = "//anon";

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %4095[^\n]", &start, &end, permissions,
		   &pgoff, &device_major, &device_minor, &inode, path) < 7 ||
	    !strchr(permissions, 'x'))
		return;
	space_map(&space, start, end, pgoff,
		  module_get(&modules, &(struct module_request){ .path = path,
								 .pid = getpid(),
								 .start = start,
								 .end = end,
								 .device_major = device_major,
								 .device_minor = device_minor,
								 .inode = inode }));
}

static void map_self(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[5000];

	cr_assert(ne(ptr, maps, NULL));
	while (fgets(line, sizeof(line), maps))
		map_line(line);
	fclose(maps);
	stacks = stacks_new();
}

static void unmap_self(void)
{
	stacks_free(stacks);
	space_release(&space);
	modules_release(&modules);
}

TestSuite(stacks, .init = map_self, .fini = unmap_self);

static void *glibc_pcs[1024];
static int nr_glibc;
static size_t copy_size = COPY_MAX;

/* As perf copies, without asking a sanitizer. */
__attribute__((no_sanitize("address"))) static void copy_stack(uint8_t *to, uint64_t from,
							       uint64_t size)
{
	for (uint64_t i = 0; i < size / 8; i++)
		((uint64_t *)(void *)to)[i] = ((const uint64_t *)from)[i];
}

/* A sample of here, and what glibc says to it. */
__attribute__((noinline)) static void sample(void)
{
	struct stack_registers registers;
	static uint8_t copy[COPY_MAX] __attribute__((aligned(8)));
	extern void *__libc_stack_end;

	__asm__ volatile("lea 0(%%rip), %0; mov %%rsp, %1; mov %%rbp, %2"
			 : "=r"(registers.pc), "=r"(registers.sp), "=r"(registers.fp));
	uint64_t size = (uint64_t)__libc_stack_end - registers.sp;
	if (size > copy_size)
		size = copy_size;
	copy_stack(copy, registers.sp, size);
	stacks_walk(stacks, &space, &registers, copy, size, &stack);
	nr_glibc = backtrace(glibc_pcs, 1024);
	/* A sanitizer puts frames of its own in front of this one. */
	while (nr_glibc > 2 && glibc_pcs[1] != (void *)stack.frames[1].pc)
		memmove(glibc_pcs, glibc_pcs + 1, (size_t)--nr_glibc * sizeof(glibc_pcs[0]));
}

static void expect_equal(void)
{
	cr_assert(eq(int, (int)stack.end, UNWIND_END_ROOT));
	cr_assert(eq(sz, stack.nr, (size_t)nr_glibc));
	for (size_t i = 1; i < stack.nr; i++)
		cr_expect(eq(u64, stack.frames[i].pc, (uint64_t)glibc_pcs[i]), "frame %zu", i);
}

#ifdef __clang__
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE \
	__attribute__((noinline, optimize("omit-frame-pointer", "no-optimize-sibling-calls")))
#endif

OPAQUE static int recurse(int depth)
{
	volatile char frame[16];

	frame[0] = (char)depth;
	if (!depth) {
		sample();
		return frame[0];
	}
	return recurse(depth - 1) + frame[0];
}

Test(stacks, equals_backtrace_through_100_frames_without_frame_pointers)
{
	recurse(100);
	cr_assert(gt(sz, stack.nr, 100));
	expect_equal();
}

static void on_signal(int signal)
{
	(void)signal;
	sample();
}

Test(stacks, equals_backtrace_across_a_signal_handler)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	cr_assert(gt(sz, stack.nr, 5));
	expect_equal();
}

static struct stack in_handler;

/* As if sampled in rt_sigreturn(): sp is at the ucontext, pc behind the system call. */
static void sample_return(int signal, siginfo_t *info, void *context)
{
	struct stack_registers registers = {
		.pc = (uint64_t)__builtin_return_address(0) + 9, /* mov $15, %rax; syscall */
		.sp = (uint64_t)context,
	};
	static uint8_t copy[COPY_MAX] __attribute__((aligned(8)));
	extern void *__libc_stack_end;
	uint64_t size = (uint64_t)__libc_stack_end - registers.sp;

	(void)signal;
	(void)info;
	sample();
	in_handler = stack;
	copy_stack(copy, registers.sp, size);
	stacks_walk(stacks, &space, &registers, copy, size, &stack);
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

Test(stacks, has_the_leaf_even_where_nothing_is_mapped)
{
	struct stack_registers registers = { .pc = 0x10, .sp = 0x1000 };

	stacks_walk(stacks, &space, &registers, "12345678", 8, &stack);
	cr_assert(eq(sz, stack.nr, 1));
	cr_expect(eq(u64, stack.frames[0].pc, 0x10));
	cr_expect(eq(ptr, (void *)stack.frames[0].module, NULL));
	cr_expect(eq(int, (int)stack.end, UNWIND_END_NO_MODULE));
}

Test(stacks, evaluates_a_row_once)
{
	recurse(20);
	uint64_t evaluated = stacks_figures(stacks).evaluated;
	recurse(20);
	struct stacks_figures figures = stacks_figures(stacks);

	cr_expect(gt(u64, evaluated, 0));
	cr_expect(le(u64, figures.evaluated, evaluated + 1)); /* recurse() is called elsewhere */
	cr_expect(eq(u64, figures.walks, 2));
}
