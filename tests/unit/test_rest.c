/* SPDX-License-Identifier: MIT */
/* What follows a copy of the stack, read from this very process. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/perf_regs.h"
#include "record/rest.h"

enum {
	STACK_BYTES = 256 * 1024,
	COPY_BYTES = 64 * 1024,
	GUARD_BYTES = 4096, /* behind the stack */
};

static uint8_t *stack;
static uint64_t registers[64];
static struct decoded decoded;
static struct rest_reader reader;

static void sample_of_stack(void)
{
	stack = mmap(NULL, STACK_BYTES + GUARD_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(ne(ptr, stack, MAP_FAILED));
	mprotect(stack + STACK_BYTES, GUARD_BYTES, PROT_NONE);
	for (size_t i = 0; i < STACK_BYTES; i++)
		stack[i] = (uint8_t)(i * 7 + i / 4096);
	decoded = (struct decoded){ .kind = DECODED_SAMPLE,
				    .pid = getpid(),
				    .sample = { .registers = registers,
						.stack = stack,
						.stack_bytes = COPY_BYTES,
						.stack_cut = true } };
}

static void start_at(size_t offset)
{
	registers[arch_perf_slot(ARCH_PERF_MASK, ARCH_PERF_SP)] =
		(uint64_t)(uintptr_t)stack + offset;
	decoded.sample.stack = stack + offset;
}

static void release(void)
{
	rest_reader_release(&reader);
	munmap(stack, STACK_BYTES + GUARD_BYTES);
}

TestSuite(rest, .init = sample_of_stack, .fini = release);

/* It begins before the copy's end and goes on behind it. */
static void expect_rest(size_t offset, uint64_t least_end)
{
	struct stack_rest *rest;

	start_at(offset);
	rest = rest_read(&reader, &decoded);
	cr_assert(ne(ptr, rest, NULL));
	const uint64_t base = (uint64_t)(uintptr_t)stack, end = base + offset + COPY_BYTES;
	cr_expect(lt(u64, rest->start, end - 4096));
	cr_expect(ge(u64, rest->start, base + offset));
	cr_expect(ge(u64, rest->start + rest->size, base + least_end));
	cr_expect(le(u64, rest->start + rest->size, base + STACK_BYTES));
	cr_expect(eq(int, memcmp(rest->bytes, stack + (rest->start - base), rest->size), 0));
	free(rest);
}

Test(rest, is_what_follows_the_copy_and_the_copys_end)
{
	expect_rest(0, COPY_BYTES + 16 * 1024);
	expect_rest(8, COPY_BYTES + 16 * 1024);
}

Test(rest, ends_where_the_stack_ends)
{
	expect_rest(STACK_BYTES - COPY_BYTES - 4096 - 8, STACK_BYTES);
}

Test(rest, is_nothing_where_all_was_copied)
{
	start_at(0);
	decoded.sample.stack_cut = false;
	cr_expect(eq(ptr, rest_read(&reader, &decoded), NULL));
}

Test(rest, is_nothing_where_nothing_can_be_read)
{
	start_at(STACK_BYTES - COPY_BYTES);
	cr_expect(eq(ptr, rest_read(&reader, &decoded), NULL));
	decoded.sample.registers = NULL; /* of a kernel thread */
	cr_expect(eq(ptr, rest_read(&reader, &decoded), NULL));
}
