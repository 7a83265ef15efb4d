/* SPDX-License-Identifier: MIT */
/* What is not in the copy of a sample: memory, the thread's other stacks, the kernel's chain. */
#include <alloca.h>
#include <signal.h>

#include "own_stack.h"

TestSuite(stacks_beyond, .init = map_self, .fini = unmap_self);

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

	for (size_t i = 0; i < nr && address + i < copy_start + copy_size; i++)
		((uint8_t *)bytes)[i] = 0x55;
	return nr;
}

/* Only frames beyond the copy have gone. */
static size_t read_cleared(void *context, uint64_t address, void *bytes, size_t size)
{
	size_t nr = read_whole(context, address, bytes, size);

	for (size_t i = 0; i < nr; i++)
		if (address + i >= copy_start + copy_size)
			((uint8_t *)bytes)[i] = 0;
	return nr;
}

/* What is there now. */
static size_t read_here(void *context, uint64_t address, void *bytes, size_t size)
{
	uint64_t left = (uint64_t)__libc_stack_end - address;

	(void)context;
	if (size > left)
		size = left;
	copy_stack(bytes, address, size);
	return size;
}

static const struct stack_memory whole = { read_whole, NULL }, other = { read_other, NULL },
				 cleared = { read_cleared, NULL }, here = { read_here, NULL };

static void expect_origin(enum stack_origin origin)
{
	uint32_t beyond = 1U << STACK_BY_MEMORY | 1U << STACK_BY_LAST | 1U << STACK_BY_CHAIN;

	cr_expect(eq(u32, stack.origins & beyond, 1U << origin));
}

static void expect_origin_is_copy(void)
{
	cr_expect(eq(u32, stack.origins, 1U << STACK_BY_CFI));
}

Test(stacks_beyond, goes_on_in_memory_where_the_copy_ends)
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

Test(stacks_beyond, does_not_believe_memory_that_has_changed_where_the_copy_ends)
{
	copy_size = 8192;
	memory = &other;
	recurse(900);
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
	cr_expect(lt(sz, stack.nr, 900));
	cr_expect(eq(u32, stack.origins, 1U << STACK_BY_CFI));
}

enum {
	REST_BEFORE = 4096,
};

static size_t rest_behind = 1 << 17;

static struct stack_rest *rest_of_whole(void)
{
	size_t start = copy_size - REST_BEFORE;
	size_t size = copy_whole - start;
	struct stack_rest *rest;

	if (size > REST_BEFORE + rest_behind)
		size = REST_BEFORE + rest_behind;
	rest = malloc(sizeof(*rest) + size);
	rest->start = copy_start + start;
	rest->size = size;
	memcpy(rest->bytes, copy + start, size);
	return rest;
}

static struct stack_rest *rest_of_other(void)
{
	struct stack_rest *rest = rest_of_whole();

	memset(rest->bytes, 0x55, REST_BEFORE);
	return rest;
}

Test(stacks_beyond, goes_on_in_what_was_read_at_once_where_it_has_changed_since)
{
	copy_size = 8192;
	read_rest = rest_of_whole;
	memory = &other;
	recurse(900);
	expect_equal();
	expect_origin(STACK_BY_MEMORY);
	cr_expect(eq(int, (int)stack.frames[1].origin, STACK_BY_CFI));
	cr_expect(eq(int, (int)stack.frames[stack.nr - 1].origin, STACK_BY_MEMORY));
}

Test(stacks_beyond, does_not_believe_what_was_read_at_once_of_another_stack)
{
	copy_size = 8192;
	read_rest = rest_of_other;
	recurse(900);
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
	cr_expect(eq(u32, stack.origins, 1U << STACK_BY_CFI));
}

Test(stacks_beyond, goes_on_in_memory_where_what_was_read_at_once_ends)
{
	copy_size = 8192;
	rest_behind = 2048;
	read_rest = rest_of_whole;
	memory = &whole;
	recurse(900);
	expect_equal();
	expect_origin(STACK_BY_MEMORY);
}

/* The copy's end is as it was, but not that of the rest. */
static size_t read_other_behind(void *context, uint64_t address, void *bytes, size_t size)
{
	size_t nr = read_whole(context, address, bytes, size);

	for (size_t i = 0; i < nr; i++)
		if (address + i >= copy_start + copy_size + rest_behind / 2)
			((uint8_t *)bytes)[i] = 0x55;
	return nr;
}

Test(stacks_beyond, is_back_at_the_copys_end_where_the_rest_ends_in_another_stack)
{
	const struct stack_memory other_behind = { read_other_behind, NULL };
	size_t without;

	copy_size = 8192;
	rest_behind = 2048;
	recurse(900);
	without = stack.nr;
	read_rest = rest_of_whole;
	for (int i = 0; i < 2; i++) {
		memory = i ? &other_behind : NULL;
		recurse(900);
		cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
		cr_expect(eq(sz, stack.nr, without));
		cr_expect(eq(u32, stack.origins, 1U << STACK_BY_CFI));
	}
}

Test(stacks_beyond, does_not_take_memory_that_was_cleared_for_the_end_of_the_stack)
{
	volatile int rounds = 6;

	thread = 7;
	copy_size = 8192;
	memory = &cleared;
	for (int i = 0; i < rounds; i++) {
		recurse(900);
		cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
		cr_expect(eq(u32, stack.origins, 1U << STACK_BY_CFI));
	}
}

Test(stacks_beyond, believes_memory_with_the_callers_that_were_found_there_each_time)
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

Test(stacks_beyond, goes_on_as_two_whole_stacks_of_the_thread)
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

Test(stacks_beyond, leaves_a_handler_that_has_a_stack_of_its_own)
{
	static char room[1 << 16];
	const struct stack_memory *const memories[] = { &here, &here, NULL };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	volatile int rounds = 3; /* not unrolled: one call */

	thread = 7;
	stack_end = (uint64_t)room + sizeof(room);
	sigaltstack(&(stack_t){ .ss_sp = room, .ss_size = sizeof(room) }, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < rounds; i++) {
		memory = memories[i];
		raise(SIGUSR1);
		expect_equal();
		expect_origin(i < 2 ? STACK_BY_MEMORY : STACK_BY_LAST);
		cr_expect(stack.has_other);
		cr_expect(lt(u64, stack.depth, sizeof(room)));
	}
	memory = NULL;
	thread = 8;
	raise(SIGUSR1);
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
	cr_expect(stack.has_other);
	cr_expect(lt(u64, stack.depth, sizeof(room)));
}

Test(stacks_beyond, goes_on_as_two_deep_stacks_that_were_read_from_memory)
{
	volatile int rounds = 3; /* not unrolled: one call */

	thread = 7;
	copy_size = 8192;
	for (int i = 0; i < rounds; i++) {
		memory = i < 2 ? &whole : NULL;
		recurse(12000); /* of 16 bytes each, by clang */
		cr_expect(gt(u64, copy_whole, copy_size + 2 * WORDS_WINDOW_BYTES));
		cr_expect(eq(int, (int)stack.end, UNWIND_END_ROOT), "round %d", i);
	}
}

Test(stacks_beyond, does_not_go_on_as_only_one_was)
{
	volatile int rounds = 2; /* not unrolled: one call */

	thread = 7;
	for (int i = 0; i < rounds; i++) {
		copy_size = i ? 8192 : COPY_MAX;
		recurse(900);
	}
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
}

Test(stacks_beyond, does_not_go_on_as_another_thread)
{
	volatile int rounds = 3; /* not unrolled: one call */

	for (int i = 0; i < rounds; i++) {
		thread = i < 2 ? 7 : 8;
		copy_size = i < 2 ? COPY_MAX : 8192;
		recurse(900);
	}
	cr_expect(eq(int, (int)stack.end, UNWIND_END_BAD_READ));
}

Test(stacks_beyond, completes_a_stack_as_the_next_ones_of_the_thread_were)
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

Test(stacks_beyond, keeps_none_that_no_other_could_complete)
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

Test(stacks_beyond, does_not_choose_between_two_stacks_with_the_same_frame)
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

Test(stacks_beyond, has_the_callers_of_now_where_hundreds_of_inner_frames_are_as_before)
{
	int (*volatile calls[])(int) = { call_once, call_otherwise };
	volatile int rounds = 4; /* not unrolled: one call */

	thread = 7;
	for (int i = 0; i < rounds; i++) {
		calls[i % 2](500);
		expect_equal();
		expect_origin_is_copy();
	}
}

OPAQUE static int call_with_room(int size, int depth)
{
	volatile char *room = alloca((size_t)size);

	room[0] = (char)depth;
	return recurse(depth) + room[0];
}

OPAQUE static int call_below_room(int size, int inner_size, int depth)
{
	volatile char *room = alloca((size_t)size);

	room[0] = (char)depth;
	return call_with_room(inner_size, depth) + room[0];
}

OPAQUE static int call_below_other_room(int size, int inner_size, int depth)
{
	volatile char *room = alloca((size_t)size);

	room[0] = (char)depth;
	return call_with_room(inner_size, depth) - room[0];
}

/* The frames further in are where they were, and the old return address is in its place still. */
Test(stacks_beyond, has_the_callers_of_now_where_their_frames_have_moved)
{
	int (*volatile calls[])(int, int, int) = { call_below_room, call_below_other_room };
	volatile int rounds = 2; /* not unrolled: one call */

	thread = 7;
	for (int i = 0; i < rounds; i++)
		calls[i](i ? 4096 : 512, i ? 512 : 4096, 300);
	expect_equal();
}

#if defined(__x86_64__) && !defined(__clang__)
/* Wherever it is called from, its frame is in the same place.  It has the address of its caller's frame
 * saved, as it needs one register for its own and another for what is of variable size. */
OPAQUE static int call_aligned(int depth)
{
	volatile char page[64] __attribute__((aligned(4096)));
	volatile char *room = alloca((size_t)depth);

	page[0] = room[0] = (char)depth;
	return recurse(depth) + page[0] + room[0];
}

OPAQUE static int align_below_room(int size, int depth)
{
	volatile char *room = alloca((size_t)size);

	room[0] = (char)depth;
	return call_aligned(depth) + room[0];
}

OPAQUE static int align_below_other_room(int size, int depth)
{
	volatile char *room = alloca((size_t)size);

	room[0] = (char)depth;
	return call_aligned(depth) - room[0];
}

/* The old return address is in its place still, within the new room: only what the aligned frame has saved
 * leads to the new one. */
Test(stacks_beyond, has_the_callers_of_now_of_an_aligned_frame)
{
	int (*volatile calls[])(int, int) = { align_below_room, align_below_other_room };
	const uint64_t top = (uint64_t)__builtin_frame_address(0);
	/* Both are above the same page, whatever this test's frame is. */
	const int least = (int)(top % 4096 > 2048 ? 128 : top % 4096 + 256);
	volatile int rounds = 2; /* not unrolled: one call */

	thread = 7;
	for (int i = 0; i < rounds; i++)
		calls[i](least + 512 * i, 300);
	expect_equal();
}
#endif

Test(stacks_beyond, goes_on_where_callers_differ_in_the_call_only)
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

#if defined(__x86_64__)
#define TAKE_FRAME_POINTER() __asm__ volatile("" ::: "rbp")
#else
#define TAKE_FRAME_POINTER() __asm__ volatile("" ::: "x29")
#endif

/* Saves the frame pointer for its caller, and uses it for something else. */
OPAQUE static int recurse_taking_fp(int depth)
{
	volatile char frame[16];

	frame[0] = (char)depth;
	TAKE_FRAME_POINTER();
	if (!depth) {
		sample();
		return frame[0];
	}
	return recurse_taking_fp(depth - 1) + frame[0];
}

/* glibc's list has what the kernel would have found. */
Test(stacks_beyond, goes_on_by_the_kernels_chain_while_frames_keep_their_pointer)
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
	cr_expect(lt(sz, without, 200));
	recurse(200);
	cr_expect(lt(sz, stack.nr, 200));
	recurse_taking_fp(200);
	cr_expect(lt(sz, stack.nr, 200));
}
#endif
