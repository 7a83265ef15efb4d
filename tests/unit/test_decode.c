/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "base/alloc.h"
#include "record/ring/decode.h"

#define IDENTITY (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define PAIR(low, high) ((uint64_t)(uint32_t)(low) | (uint64_t)(high) << 32)

static const struct decode_layout side = { .sample_type = IDENTITY };
static const struct decode_layout with_stack = {
	.sample_type = IDENTITY | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
		       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
	.registers = 0x7, /* three of them */
};

/* Makes a record of 64-bit words: the header is put in front. */
struct made {
	struct perf_event_header header;
	uint64_t words[64];
};

static struct made make(uint32_t type, uint16_t misc, const uint64_t *words, size_t nr)
{
	struct made made = { .header = { .type = type,
					 .misc = misc,
					 .size = (uint16_t)(sizeof(made.header) + nr * 8) } };

	if (nr)
		memcpy(made.words, words, nr * 8);
	return made;
}

#define MAKE(type, misc, ...)                               \
	make(type, misc, (const uint64_t[]){ __VA_ARGS__ }, \
	     sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static int decode_made(struct decoded *decoded, const struct made *made,
		       const struct decode_layout *layout)
{
	return decode(decoded, &made->header, made->header.size, layout);
}

static struct made whole_sample(void)
{
	return MAKE(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL,
		    /* id, ip, pid|tid, time, period */ 77, 0x401000, PAIR(10, 11), 5000, 1003,
		    /* chain */ 3, PERF_CONTEXT_KERNEL, 0xffffffff81000000, 0xffffffff81000010,
		    /* registers */ PERF_SAMPLE_REGS_ABI_64, 0xa, 0xb, 0xc,
		    /* stack */ 16, 0x1111, 0x2222, 8);
}

Test(decode, reads_every_part_of_a_sample)
{
	struct made made = whole_sample();
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &with_stack), 0));
	cr_assert(eq(int, d.kind, DECODED_SAMPLE));
	cr_assert(eq(u64, d.id, 77));
	cr_assert(eq(u64, d.time_ns, 5000));
	cr_assert(eq(int, d.pid, 10));
	cr_assert(eq(int, d.tid, 11));
	cr_assert(eq(u64, d.sample.ip, 0x401000));
	cr_assert(eq(u64, d.sample.period, 1003));
	cr_assert(d.sample.in_kernel);
	cr_assert(eq(sz, d.sample.nr_chain, 3));
	cr_assert(eq(u64, d.sample.chain[2], 0xffffffff81000010));
	cr_assert(eq(u64, d.sample.registers[2], 0xc));
	cr_assert(eq(sz, d.sample.stack_bytes, 8));
	cr_assert(eq(int, d.sample.stack[0], 0x11));
	cr_assert(not(d.sample.stack_cut));
}

Test(decode, a_copy_that_is_full_was_cut)
{
	struct made made = whole_sample();
	struct decoded d;

	made.words[16] = 16;
	cr_assert(eq(int, decode_made(&d, &made, &with_stack), 0));
	cr_assert(d.sample.stack_cut);
}

static bool is_same_stack(const struct decoded_sample *one, const struct decoded_sample *other)
{
	return one->stack_bytes == other->stack_bytes && one->stack_cut == other->stack_cut &&
	       !memcmp(one->stack, other->stack, one->stack_bytes);
}

Test(decode, a_packed_sample_says_the_same)
{
	for (uint64_t valid = 0; valid <= 16; valid++) {
		struct made made = whole_sample(), packed;
		struct decoded d, again;

		made.words[16] = valid;
		cr_assert(eq(int, decode_made(&d, &made, &with_stack), 0));
		decode_pack(&packed.header, &made.header, &d);
		cr_expect(eq(sz, packed.header.size, decode_packed_size(&made.header, &d)));
		cr_expect(le(u16, packed.header.size, made.header.size));
		cr_assert(eq(int, decode_made(&again, &packed, &with_stack), 0));
		cr_expect(is_same_stack(&d.sample, &again.sample), "%d bytes", (int)valid);
		cr_expect(eq(u64, again.sample.registers[2], 0xc));
		cr_expect(eq(u64, again.time_ns, 5000));
	}
}

Test(decode, what_is_no_sample_is_packed_as_it_is)
{
	struct made made = MAKE(PERF_RECORD_LOST, 0, 77, 5, PAIR(10, 11), 5000, 77), packed;
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &with_stack), 0));
	decode_pack(&packed.header, &made.header, &d);
	cr_expect(eq(sz, decode_packed_size(&made.header, &d), made.header.size));
	cr_expect(eq(int, memcmp(&packed, &made, made.header.size), 0));
}

Test(decode, a_kernel_thread_has_no_registers_and_no_stack)
{
	struct made made = MAKE(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, 77, 1, 2, 3, 4,
				/* chain */ 0, PERF_SAMPLE_REGS_ABI_NONE, /* stack */ 0);
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &with_stack), 0));
	cr_assert(zero(ptr, (void *)d.sample.registers));
	cr_assert(eq(sz, d.sample.stack_bytes, 0));
}

/* The record is copied to the end of a heap block, so that a sanitizer sees each byte too many. */
Test(decode, a_sample_cut_short_anywhere_is_refused)
{
	struct made made = whole_sample();

	for (uint16_t size = 0; size < made.header.size; size++) {
		struct made *cut = xmalloc(size ? size : 1);
		struct decoded d;

		memcpy(cut, &made, size);
		if (size >= sizeof(made.header))
			cut->header.size = size;
		cr_assert(eq(int, decode(&d, &cut->header, size, &with_stack), -1), "%d bytes",
			  size);
		free(cut);
	}
}

Test(decode, counts_that_are_too_large_are_refused)
{
	static const uint64_t hostile[] = { 1000,
					    UINT64_MAX,
					    UINT64_MAX / 8,
					    UINT64_MAX / 8 + 1,
					    UINT64_C(1) << 61,
					    UINT64_C(1) << 63 };
	struct decoded d;

	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		struct made chain = whole_sample(), stack = chain, valid = chain;

		chain.words[5] = hostile[i];
		cr_expect(eq(int, decode_made(&d, &chain, &with_stack), -1));
		stack.words[13] = hostile[i];
		cr_expect(eq(int, decode_made(&d, &stack, &with_stack), -1));
		valid.words[16] = hostile[i];
		cr_expect(eq(int, decode_made(&d, &valid, &with_stack), -1));
	}
}

Test(decode, a_sample_with_fields_nobody_knows_is_refused)
{
	struct decode_layout layout = with_stack;
	struct made made = whole_sample();
	struct decoded d;

	layout.sample_type |= PERF_SAMPLE_RAW;
	cr_assert(eq(int, decode_made(&d, &made, &layout), -1));
}

Test(decode, reads_a_mapping_with_an_inode)
{
	struct made made = MAKE(PERF_RECORD_MMAP2, 0, PAIR(10, 11), 0x400000, 0x2000, 0x1000,
				PAIR(8, 1), 1234, 5, PAIR(/* r-x */ 5, 2),
				/* "/bin/x" */ 0x782f6e69622f, PAIR(10, 11), 900, 55);
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &side), 0));
	cr_assert(eq(int, d.kind, DECODED_MMAP));
	cr_assert(eq(u64, d.mmap.start, 0x400000));
	cr_assert(eq(u64, d.mmap.end, 0x402000));
	cr_assert(eq(u64, d.mmap.pgoff, 0x1000));
	cr_assert(eq(u64, d.mmap.inode, 1234));
	cr_assert(eq(int, d.mmap.device_major, 8));
	cr_assert(eq(str, (char *)d.mmap.path, (char *)"/bin/x"));
	cr_assert(d.mmap.executable);
	cr_assert(zero(ptr, (void *)d.mmap.build_id));
	cr_assert(eq(u64, d.time_ns, 900));
	cr_assert(eq(u64, d.id, 55));
}

Test(decode, reads_a_mapping_with_a_build_id)
{
	struct made made = MAKE(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, PAIR(10, 11),
				0x400000, 0x2000, 0, /* size, then 20 bytes */ PAIR(20, 0x04030201),
				0, 0, PAIR(1, 2), 0x782f, PAIR(10, 11), 900, 55);
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &side), 0));
	cr_assert(eq(sz, d.mmap.build_id_bytes, 20));
	cr_assert(eq(int, d.mmap.build_id[0], 1));
	cr_assert(not(d.mmap.executable));

	((uint8_t *)&made.words[4])[0] = 21;
	cr_assert(eq(int, decode_made(&d, &made, &side), -1));
}

Test(decode, a_mapping_that_wraps_around_is_refused)
{
	struct made made = MAKE(PERF_RECORD_MMAP2, 0, PAIR(10, 11), UINT64_MAX - 0xfff, 0x2000, 0,
				0, 0, 0, PAIR(5, 2), 0x782f, PAIR(10, 11), 900, 55);
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &side), -1));
}

Test(decode, a_name_without_an_end_is_refused)
{
	/* The bytes of the trailer are no part of the name. */
	struct made made =
		MAKE(PERF_RECORD_COMM, 0, PAIR(10, 11), 0x6161616161616161, PAIR(10, 11), 900, 55);
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &side), -1));
}

Test(decode, tells_an_exec_from_a_change_of_name)
{
	struct made made = MAKE(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, PAIR(10, 11), 0x6873,
				PAIR(10, 11), 900, 55);
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &side), 0));
	cr_assert(eq(int, d.kind, DECODED_COMM));
	cr_assert(eq(str, (char *)d.comm.name, (char *)"sh"));
	cr_assert(d.comm.is_exec);

	made.header.misc = 0;
	cr_assert(eq(int, decode_made(&d, &made, &side), 0));
	cr_assert(not(d.comm.is_exec));
}

Test(decode, a_fork_names_both_sides)
{
	struct made made =
		MAKE(PERF_RECORD_FORK, 0, PAIR(20, 10), PAIR(21, 11), 800, PAIR(10, 11), 801, 55);
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &side), 0));
	cr_assert(eq(int, d.kind, DECODED_FORK));
	cr_assert(eq(int, d.pid, 20));
	cr_assert(eq(int, d.tid, 21));
	cr_assert(eq(int, d.task.parent_pid, 10));
	cr_assert(eq(int, d.task.parent_tid, 11));
	cr_assert(eq(u64, d.time_ns, 800));
}

Test(decode, counts_what_the_kernel_dropped)
{
	struct made made = MAKE(PERF_RECORD_LOST, 0, 55, 12, PAIR(10, 11), 900, 55);
	struct decoded d;

	cr_assert(eq(int, decode_made(&d, &made, &side), 0));
	cr_assert(eq(int, d.kind, DECODED_LOST));
	cr_assert(eq(u64, d.lost.nr, 12));
}

Test(decode, finds_the_id_before_the_layout_is_known)
{
	struct made sample = whole_sample();
	struct made lost = MAKE(PERF_RECORD_LOST, 0, 1, 12, PAIR(10, 11), 900, 55);
	struct made empty = make(PERF_RECORD_LOST, 0, NULL, 0);

	cr_assert(eq(u64, decode_id(&sample.header, sample.header.size), 77));
	cr_assert(eq(u64, decode_id(&lost.header, lost.header.size), 55));
	cr_assert(eq(u64, decode_id(&empty.header, empty.header.size), 0));
}
