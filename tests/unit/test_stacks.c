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
#include "registers.h"

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
static uint64_t thread;
static const struct stack_memory *memory;
static const uint64_t *chain;
static uint8_t copy[COPY_MAX] __attribute__((aligned(8)));
static uint64_t copy_start;
static size_t copy_whole; /* of it, before copy_size cut it */

/* The program's memory as it was when the sample was taken. */
static size_t read_whole(void *context, uint64_t address, void *bytes, size_t size)
{
	uint64_t offset = address - copy_start;

	(void)context;
	if (offset > copy_whole)
		return 0;
	if (size > copy_whole - offset)
		size = copy_whole - offset;
	memcpy(bytes, copy + offset, size);
	return size;
}

/* By now it is another stack in the same place. */
static size_t read_other(void *context, uint64_t address, void *bytes, size_t size)
{
	size_t nr = read_whole(context, address, bytes, size);

	if (address < copy_start + copy_size)
		memset(bytes, 0x55, nr);
	return nr;
}

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
	struct stack_registers registers = { 0 };
	extern void *__libc_stack_end;

	nr_glibc = backtrace(glibc_pcs, 1024);
	REGISTERS_HERE(registers.pc, registers.sp, registers.fp);
	copy_start = registers.sp;
	copy_whole = (uint64_t)__libc_stack_end - registers.sp;
	size_t size = copy_whole < copy_size ? copy_whole : copy_size;
	copy_stack(copy, registers.sp, copy_whole);
	stacks_walk(stacks, &space,
		    &(struct stack_sample){ .registers = &registers,
					    .bytes = copy,
					    .nr_bytes = size,
					    .chain = chain,
					    .nr_chain = chain ? (size_t)nr_glibc : 0,
					    .thread = thread,
					    .memory = memory },
		    &stack);
	/* A sanitizer puts frames of its own in front of this one. */
	while (nr_glibc > 2 && glibc_pcs[1] != (void *)stack.frames[1].pc)
		memmove(glibc_pcs, glibc_pcs + 1, (size_t)--nr_glibc * sizeof(glibc_pcs[0]));
}

static void expect_origin(enum stack_origin origin)
{
	uint32_t beyond = 1U << STACK_BY_MEMORY | 1U << STACK_BY_LAST | 1U << STACK_BY_CHAIN;

	cr_expect(eq(u32, stack.origins & beyond, 1U << origin));
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
	extern void *__libc_stack_end;
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

static const struct stack_memory whole = { read_whole, NULL }, other = { read_other, NULL };

Test(stacks, goes_on_in_memory_where_the_copy_ends)
{
	copy_size = 8192;
	memory = &whole;
	recurse(900);
	expect_equal();
	expect_origin(STACK_BY_MEMORY);
	cr_expect(eq(int, (int)stack.frames[1].origin, STACK_BY_CFI));
	cr_expect(eq(int, (int)stack.frames[stack.nr - 1].origin, STACK_BY_MEMORY));
	cr_expect(gt(u64, stack.depth, 8192));
}

Test(stacks, does_not_believe_memory_that_has_changed_where_the_copy_ends)
{
	copy_size = 8192;
	memory = &other;
	recurse(900);
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
	cr_expect(lt(sz, stack.nr, 900));
	cr_expect(eq(u32, stack.origins, 1U << STACK_BY_CFI));
}

Test(stacks, believes_memory_with_the_callers_that_were_found_there_each_time)
{
	volatile int rounds = 6; /* not unrolled: one call */

	thread = 7;
	copy_size = 8192;
	memory = &other;
	for (int i = 0; i < rounds; i++) {
		recurse(900);
		cr_expect(eq(int, unwind_end_is_root(stack.end), i >= 3), "round %d", i);
	}
	expect_equal();
}

Test(stacks, goes_on_as_two_whole_stacks_of_the_thread)
{
	volatile int rounds = 3; /* not unrolled: one call */

	thread = 7;
	for (int i = 0; i < rounds; i++) {
		copy_size = i < 2 ? COPY_MAX : 8192;
		recurse(900);
	}
	expect_equal();
	expect_origin(STACK_BY_LAST);
}

Test(stacks, does_not_go_on_as_only_one_was)
{
	volatile int rounds = 2; /* not unrolled: one call */

	thread = 7;
	for (int i = 0; i < rounds; i++) {
		copy_size = i ? 8192 : COPY_MAX;
		recurse(900);
	}
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
}

Test(stacks, does_not_go_on_as_another_thread)
{
	volatile int rounds = 3; /* not unrolled: one call */

	for (int i = 0; i < rounds; i++) {
		thread = i < 2 ? 7 : 8;
		copy_size = i < 2 ? COPY_MAX : 8192;
		recurse(900);
	}
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
}

Test(stacks, completes_a_stack_as_the_next_ones_of_the_thread_were)
{
	volatile int rounds = 3; /* not unrolled: one call */
	struct unfinished *unfinished = NULL;

	thread = 7;
	for (int i = 0; i < rounds; i++) {
		copy_size = i ? COPY_MAX : 8192;
		recurse(900);
		if (i == 0) {
			unfinished = stacks_keep(stacks, &stack);
			cr_assert(ne(ptr, (void *)unfinished, NULL));
		}
		cr_expect(eq(int, stacks_retry(stacks, unfinished, &stack), i == 2), "round %d", i);
	}
	expect_equal();
	expect_origin(STACK_BY_LAST);
	stacks_forget(unfinished);
}

Test(stacks, keeps_none_that_no_other_could_complete)
{
	copy_size = 8192; /* the thread is not known */
	recurse(900);
	cr_expect(eq(ptr, (void *)stacks_keep(stacks, &stack), NULL));
	thread = 7;
	copy_size = COPY_MAX;
	recurse(900);
	cr_expect(eq(ptr, (void *)stacks_keep(stacks, &stack), NULL));
}

OPAQUE static int call_once(int depth)
{
	return recurse(depth) + 1;
}

OPAQUE static int call_otherwise(int depth)
{
	return recurse(depth) + 2;
}

Test(stacks, does_not_choose_between_two_stacks_with_the_same_frame)
{
	int (*volatile calls[])(int) = { call_once, call_otherwise };
	volatile int rounds = 5; /* not unrolled: one call */
	struct unfinished *unfinished;

	thread = 7;
	copy_size = 8192;
	for (int i = 0; i < rounds; i++) {
		memory = i < 4 ? &whole : NULL;
		calls[i % 2](500);
		cr_expect(eq(int, unwind_end_is_root(stack.end), i < 4));
	}
	unfinished = stacks_keep(stacks, &stack);
	cr_expect(not(stacks_retry(stacks, unfinished, &stack)));
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
	stacks_forget(unfinished);
}

Test(stacks, goes_on_where_callers_differ_in_the_call_only)
{
	volatile int rounds = 5; /* not unrolled */
	volatile int sum = 0;	 /* the calls are two */

	thread = 7;
	copy_size = 8192;
	for (int i = 0; i < rounds; i++) {
		memory = i < 4 ? &whole : NULL;
		if (i % 2)
			sum = sum + call_once(500);
		else
			sum = sum - call_once(500);
		cr_expect(unwind_end_is_root(stack.end), "round %d", i);
	}
}

#ifndef __clang__
__attribute__((noinline, optimize("no-omit-frame-pointer", "no-optimize-sibling-calls"))) static int
recurse_by_fp(int depth)
{
	volatile char frame[16];

	frame[0] = (char)depth;
	if (!depth) {
		sample();
		return frame[0];
	}
	return recurse_by_fp(depth - 1) + frame[0];
}

/* glibc's list has what the kernel would have found. */
Test(stacks, goes_on_by_the_kernels_chain_while_frames_keep_their_pointer)
{
	size_t without;

#ifdef __SANITIZE_ADDRESS__
	cr_skip("ASan: the chain differs from glibc's list behind the recursion");
#endif
	copy_size = 4096;
	recurse_by_fp(200);
	without = stack.nr;
	chain = (const uint64_t *)(void *)glibc_pcs;
	recurse_by_fp(200);
	cr_assert(gt(sz, stack.nr, 200));
	expect_origin(STACK_BY_CHAIN);
	for (size_t i = 1; i < stack.nr; i++)
		cr_expect(eq(u64, stack.frames[i].pc, (uint64_t)glibc_pcs[i]), "frame %zu", i);
	recurse(200);
	cr_expect(lt(sz, stack.nr, 200));
	cr_expect(lt(sz, without, 200));
}
#endif

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
	recurse(20);
	uint64_t evaluated = stacks_figures(stacks).evaluated;
	recurse(20);
	struct stacks_figures figures = stacks_figures(stacks);

	cr_expect(gt(u64, evaluated, 0));
	cr_expect(le(u64, figures.evaluated, evaluated + 1)); /* recurse() is called elsewhere */
	cr_expect(eq(u64, figures.walks, 2));
}
