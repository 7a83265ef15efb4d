/* SPDX-License-Identifier: MIT */
/*
 * own_stack - samples of this very process, as perf would deliver them, and what glibc says to each.
 *
 *	TestSuite(stacks, .init = map_self, .fini = unmap_self);
 *
 *	copy_size = 8192;	// and thread, read_rest, memory, chain: what the next samples have
 *	recurse(100);		// takes one, so many frames deep
 *	expect_equal();
 */
#ifndef TESTS_OWN_STACK_H
#define TESTS_OWN_STACK_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opaque.h"
#include "record/stacks/stacks.h"
#include "registers.h"

enum {
	COPY_MAX = 4 << 20, /* a sanitizer's frames are large */
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
static void *glibc_pcs[1024];
static int nr_glibc;
static size_t copy_size = COPY_MAX;
static uint64_t thread;
static struct stack_rest *(*read_rest)(void); /* when the copy is made; NULL: nothing is read */
static const struct stack_memory *memory;
static const uint64_t *chain;
static uint8_t copy[COPY_MAX] __attribute__((aligned(8)));
static uint64_t copy_start;
static uint64_t stack_end; /* 0: that of the thread's stack */
static size_t copy_whole;  /* of it, before copy_size cut it */

/* As perf copies, without asking a sanitizer. */
__attribute__((no_sanitize("address"))) static void copy_stack(uint8_t *to, uint64_t from,
							       uint64_t size)
{
	for (uint64_t i = 0; i < size / 8; i++)
		((uint64_t *)(void *)to)[i] = ((const uint64_t *)from)[i];
}

extern void *__libc_stack_end;

/* A sample of here, and what glibc says to it. */
__attribute__((noinline)) static void sample(void)
{
	struct stack_registers registers = { 0 };

	nr_glibc = backtrace(glibc_pcs, 1024);
	REGISTERS_HERE(registers.pc, registers.sp, registers.fp);
	copy_start = registers.sp;
	copy_whole = (stack_end ? stack_end : (uint64_t)__libc_stack_end) - registers.sp;
	cr_assert(le(sz, copy_whole, COPY_MAX));
	size_t size = copy_whole < copy_size ? copy_whole : copy_size;
	copy_stack(copy, registers.sp, copy_whole);
	struct stack_rest *rest = read_rest ? read_rest() : NULL;
	stacks_walk(stacks, &space,
		    &(struct stack_sample){ .registers = &registers,
					    .bytes = copy,
					    .nr_bytes = size,
					    .chain = chain,
					    .nr_chain = chain ? (size_t)nr_glibc : 0,
					    .thread = thread,
					    .rest = rest,
					    .memory = memory },
		    &stack);
	free(rest);
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

static void on_signal(int signal)
{
	(void)signal;
	sample();
}

#endif
