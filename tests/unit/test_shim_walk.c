/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "shim/guard.h"
#include "shim/hook.h"
#include "shim/real.h"
#include "shim/walk.h"
#include "shim_file.h"

/* Stacks of this very process, against glibc's backtrace(). */

#define NOINLINE __attribute__((noinline, noclone))
#define DEPTH 600

static struct shim_file file;
static struct trie trie;
static struct modules modules;
static struct walk *walk;
static uint32_t last;

static void set_up(void)
{
	void *warm_up[1];

	backtrace(warm_up, 1);
	real_find();
	shim_file_make(&file, 8);
	cr_assert(trie_init(&trie, file.fd, wire_segment_at(0) + WIRE_NODES_AT, file.head));
	modules_init(&modules, file.head, &trie);
	walk = calloc(1, sizeof(*walk));
	walk_init(walk, &modules, &trie, stack_top());
}

TestSuite(shim_walk, .init = set_up);

static const struct wire_node *node(uint32_t id)
{
	return (const struct wire_node *)(file.segment + WIRE_NODES_AT) + id;
}

/* The stack from the caller's caller on. */
NOINLINE static void check(void)
{
	const uintptr_t *frame = FRAME;
	void *expected[DEPTH];
	int nr = backtrace(expected, DEPTH), i = 1;
	uint32_t id;

	last = walk_stack(walk, frame[1], guard_caller_sp(frame), frame[0]);
	cr_assert(ne(u32, last, 0));
	/* A sanitizer's backtrace() has one frame of its own. */
	if ((uintptr_t)expected[i] != node(last)->address)
		i++;
	for (id = last; id && i < nr; id = node(id)->parent, i++)
		cr_assert(eq(u64, node(id)->address & ~WIRE_EXACT_PC, (uintptr_t)expected[i]));
	cr_assert(eq(int, i, nr));
	cr_assert(zero(u32, id));
}

NOINLINE static void down(int depth)
{
	if (depth)
		down(depth - 1);
	else
		check();
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void down_otherwise(int depth)
{
	char room[100];

	__asm__ volatile("" ::"r"(room) : "memory");
	if (depth % 3)
		down_otherwise(depth - 1);
	else
		down(depth);
	check();
}

Test(shim_walk, equals_backtrace_where_libc_has_no_dl_find_object)
{
	real._dl_find_object = NULL;
	for (int i = 0; i < 100; i++) {
		down(i % 17);
		check();
	}
	cr_expect(gt(u32, file.head->modules_used, 2));
}

Test(shim_walk, equals_backtrace_on_stacks_that_grow_and_shrink)
{
	for (int i = 0; i < 300; i++) {
		down(i % 17);
		down_otherwise(i % 31);
		check();
	}
}

NOINLINE static void call(void (*function)(void))
{
	function();
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void check_further_in(void)
{
	check();
	__asm__ volatile("" ::: "memory");
}

Test(shim_walk, equals_backtrace_where_one_call_leads_to_the_hook_and_deeper_in_turn)
{
	for (int i = 0; i < 12; i++)
		call(i % 4 ? check_further_in : check);
}

static uint32_t draw(uint32_t *seed, uint32_t range)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 16) % range;
}

static uint32_t go_down(uint32_t *seed, int depth);

/* Its frame has no constant size: the frame pointer leads to the caller.  Nothing is written there, so
 * that return addresses of the stack before stay, and are looked at. */
__attribute__((no_sanitize_address)) NOINLINE static uint32_t with_room(uint32_t *seed, int depth)
{
	char *room = __builtin_alloca(16 * draw(seed, 12));

	__asm__ volatile("" ::"r"(room) : "memory");
	return go_down(seed, depth) + 1;
}

/* More values than there are registers, that of the frame pointer among them. */
NOINLINE static uint32_t with_values(uint32_t *seed, int depth)
{
	uint32_t a = *seed, b = a, c = a, d = a, e = a, f = a, g = a, sum;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g));
	sum = go_down(seed, depth);
	return sum + (a ^ b * c ^ d * e ^ f * g) % 2;
}

NOINLINE static uint32_t with_nothing(uint32_t *seed, int depth)
{
	return go_down(seed, depth) + 1;
}

NOINLINE static uint32_t go_down(uint32_t *seed, int depth)
{
	static uint32_t (*const further[])(uint32_t * seed, int depth) = { with_values,
									   with_nothing };

	if (depth)
		return (depth % 2 ? with_room : further[draw(seed, 2)])(seed, depth - 1);
	check();
	return 1;
}

Test(shim_walk, equals_backtrace_where_frame_pointers_lead_past_what_was_there_before)
{
	uint32_t seed = 1, sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += go_down(&seed, 1 + (int)draw(&seed, 8));
	cr_expect(gt(u32, sum, 20000));
}

Test(shim_walk, the_same_stack_is_the_same_node)
{
	volatile int rounds = 3; /* or clang unrolls it: three places that call */
	uint32_t first = 0;

	for (int i = 0; i < rounds; i++) {
		down(20);
		first = first ? first : last;
		cr_expect(eq(u32, last, first));
	}
}

Test(shim_walk, sees_that_an_outer_frame_changed_below_the_same_inner_ones)
{
	uint32_t a, b;

	down(5);
	a = last;
	down(5);
	b = last;
	cr_expect(ne(u32, a, b));
}

Test(shim_walk, ends_early_with_a_mark_where_the_stack_cannot_be_read)
{
	const uintptr_t *frame = FRAME;

	walk->stack.high = walk->stack.low = guard_caller_sp(frame) & ~UINT64_C(7);
	walk->stack.high += 64;
	last = walk_stack(walk, frame[1], guard_caller_sp(frame), frame[0]);
	cr_assert(ne(u32, last, 0));

	uint32_t root = last;

	while (node(root)->parent)
		root = node(root)->parent;
	cr_expect(eq(u32, node(root)->module, WIRE_MODULE_STOP));
	cr_expect(eq(u64, node(root)->address, UNWIND_END_BAD_READ));
}

static void handler(int number)
{
	(void)number;
	check();
	down(3);
}

Test(shim_walk, goes_through_signal_handlers_on_either_stack)
{
	static char alt[1 << 16];
	stack_t stack = { .ss_sp = alt, .ss_size = sizeof(alt) };
	struct sigaction action = { .sa_handler = handler };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	sigaltstack(&stack, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	down(4);
}

static sigjmp_buf back;

static void jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

Test(shim_walk, is_right_again_after_a_handler_jumped_out_of_it)
{
	struct sigaction action = { .sa_handler = jump };
	volatile int jumps = 0;

	sigaction(SIGVTALRM, &action, NULL);
	while (jumps < 30) {
		struct itimerval soon = { { 0, 0 }, { 0, 3000 } };

		if (!sigsetjmp(back, 1)) {
			setitimer(ITIMER_VIRTUAL, &soon, NULL);
			for (;;) {
				const uintptr_t *frame = FRAME;

				walk_stack(walk, frame[1], guard_caller_sp(frame), frame[0]);
			}
		}
		jumps++;
		down(jumps);
	}
}

NOINLINE static void very_deep(int depth)
{
	if (depth)
		very_deep(depth - 1);
	else {
		const uintptr_t *frame = FRAME;

		last = walk_stack(walk, frame[1], guard_caller_sp(frame), frame[0]);
	}
	__asm__ volatile("" ::: "memory");
}

Test(shim_walk, a_very_deep_stack_keeps_both_ends_and_counts_what_is_left_out)
{
	uint64_t nr = 0, elided = 0;

	down(3);
	uint32_t outer = last;
	while (node(outer)->parent)
		outer = node(outer)->parent;

	very_deep(50000);
	uint32_t id = last, root = 0;

	for (; id; root = id, id = node(id)->parent)
		if (node(id)->module == WIRE_MODULE_ELIDED)
			elided += node(id)->address;
		else
			nr++;
	cr_expect(eq(u64, nr, WALK_FRAMES));
	cr_expect(gt(u64, elided + nr, 50000));
	cr_expect(lt(u64, elided + nr, 50100));
	cr_expect(eq(u64, node(root)->address, node(outer)->address));
	down(3);
}

Test(shim_walk, finds_modules_with_path_and_build_id)
{
	const struct module *m = modules_find(&modules, (uintptr_t)&getppid);
	const struct wire_module *wire =
		(const struct wire_module *)(file.segment + WIRE_MODULES_AT) + m->id;
	const char *text = file.segment + WIRE_TEXT_AT;

	cr_expect(strstr(text + wire->path_at, "libc.so.6") != NULL);
	cr_expect(eq(u32, wire->build_id_bytes, 20));
	cr_expect(eq(ptr, (void *)modules_find(&modules, 16), NULL));
	modules_changed(&modules);
	cr_expect(eq(ptr, (void *)modules_find(&modules, (uintptr_t)&getppid), (void *)m));
}

static const struct wire_module *told(const char *segment, uint32_t id)
{
	return (const struct wire_module *)(segment + WIRE_MODULES_AT) + id;
}

static bool same_text(const char *a, uint32_t a_at, const char *b, uint32_t b_at, uint32_t bytes)
{
	return !memcmp(a + WIRE_TEXT_AT + a_at, b + WIRE_TEXT_AT + b_at, bytes);
}

Test(shim_walk, a_forked_child_tells_its_parents_modules_again)
{
	uint32_t id = modules_find(&modules, (uintptr_t)&getppid)->id;
	const struct wire_module *before = told(file.segment, id), *again;
	char *segment = shim_file_map(file.fd, wire_segment_at(1), WIRE_HEAD_BYTES);

	modules_inherit(&modules, (struct wire_segment *)segment);
	again = told(segment, id);
	cr_expect(eq(u32, ((struct wire_segment *)segment)->modules_used, file.head->modules_used));
	cr_expect(eq(u64, again->start, before->start));
	cr_expect(eq(u64, again->end, before->end));
	cr_expect(eq(u64, again->bias, before->bias));
	cr_expect(eq(u32, again->path_bytes, before->path_bytes));
	cr_expect(eq(u32, again->build_id_bytes, 20));
	cr_expect(same_text(segment, again->path_at, file.segment, before->path_at,
			    before->path_bytes));
	cr_expect(same_text(segment, again->build_id_at, file.segment, before->build_id_at, 20));
	cr_expect(eq(u32, modules_find(&modules, (uintptr_t)&getppid)->id, id));
}
