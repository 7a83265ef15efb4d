/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/heap/execs.h"

enum {
	IMAGE = 100,
	CHILD = 101,
	OTHER = 102,
};

static struct segment segment = { .pid = IMAGE };
static struct ticks ticks;
static struct execs execs;

static void set_up(void)
{
	segment.shared = calloc(1, sizeof(*segment.shared));
	ticks_start(&ticks);
}

static void tear_down(void)
{
	free(segment.shared);
	execs_release(&execs);
}

TestSuite(heap_execs, .init = set_up, .fini = tear_down);

/* The next entry, not whole yet. */
static struct wire_exec *begin(int32_t pid, const char *path)
{
	uint32_t number = segment.shared->execs_used++;
	struct wire_exec *exec = &segment.shared->exec[number % WIRE_EXECS];

	exec->number = 0;
	exec->pid = pid;
	exec->clock = wire_clock();
	exec->failed = !path;
	strncpy(exec->path, path ? path : "", sizeof(exec->path));
	return exec;
}

static void end(struct wire_exec *exec)
{
	exec->number = segment.shared->execs_used;
}

static void say(int32_t pid, const char *path)
{
	end(begin(pid, path));
}

static int32_t in_doubt;

static bool may_fail(void *context, const struct heap_exec *exec)
{
	(void)context;
	return exec->pid == in_doubt;
}

static struct {
	struct heap_exec at[2 * WIRE_EXECS];
	size_t nr, next;
} settled;

static void keep(void *context, const struct heap_exec *exec)
{
	struct heap_exec *to = &settled.at[settled.nr++];

	(void)context;
	*to = *exec;
	to->path = strdup(exec->path ? exec->path : "not known");
}

static void settle_at(uint64_t now_ns)
{
	execs_settle(&execs, now_ns, &(struct execs_fate){ NULL, may_fail, keep });
}

static void expect(int32_t pid, const char *path)
{
	struct heap_exec *exec = &settled.at[settled.next++];

	cr_assert(le(sz, settled.next, settled.nr));
	cr_expect(eq(i32, exec->pid, pid));
	cr_expect(eq(i32, exec->by_pid, IMAGE));
	cr_expect(eq(str, exec->path, (char *)path));
	free(exec->path);
}

static void expect_none(void)
{
	cr_expect(eq(sz, settled.next, settled.nr));
}

static void read_and_settle(void)
{
	execs_read(&execs, &segment, &ticks);
	settle_at(UINT64_MAX);
}

Test(heap_execs, come_out_as_they_were_told)
{
	say(CHILD, "./a");
	say(IMAGE, "b");
	say(OTHER, "");
	execs_read(&execs, &segment, &ticks);
	cr_expect(execs_has(&execs, OTHER));
	settle_at(UINT64_MAX);
	expect(CHILD, "./a");
	expect(IMAGE, "b");
	expect(OTHER, "not known");
	cr_expect(not(execs_has(&execs, OTHER)));
	expect_none();
}

Test(heap_execs, wait_a_while_for_their_failure)
{
	uint64_t now_ns = clock_now_ns();

	say(CHILD, "a");
	execs_read(&execs, &segment, &ticks);
	settle_at(now_ns);
	expect_none();
	settle_at(now_ns + UINT64_C(1000000000));
	cr_expect(lt(u64, settled.at[0].time_ns - now_ns, UINT64_C(500000000)));
	expect(CHILD, "a");
}

Test(heap_execs, that_may_fail_yet_let_others_pass)
{
	in_doubt = CHILD;
	say(CHILD, "a");
	say(OTHER, "b");
	read_and_settle();
	expect(OTHER, "b");
	expect_none();
	say(CHILD, NULL);
	execs_read(&execs, &segment, &ticks);
	cr_expect(not(execs_has(&execs, CHILD)));
}

Test(heap_execs, of_the_dead_are_read_past_the_one_that_was_not_finished)
{
	begin(CHILD, "a");
	say(OTHER, "b");
	read_and_settle();
	expect_none();
	segment.dead = true;
	read_and_settle();
	expect(OTHER, "b");
	cr_expect(eq(u64, execs.missed, 1));
}

Test(heap_execs, of_the_dead_are_read_even_if_they_were_never_seen_alive)
{
	say(CHILD, "a");
	say(OTHER, "b");
	segment.dead = true;
	read_and_settle();
	expect(CHILD, "a");
	expect(OTHER, "b");
	expect_none();
	cr_expect(eq(u64, execs.missed, 0));
}

Test(heap_execs, that_failed_are_forgotten)
{
	say(CHILD, "a");
	say(OTHER, "b");
	say(CHILD, "c");
	say(CHILD, NULL);
	execs_read(&execs, &segment, &ticks);
	say(OTHER, NULL);
	say(OTHER, NULL);
	read_and_settle();
	expect(CHILD, "a");
	expect_none();
}

Test(heap_execs, that_are_not_whole_yet_are_read_later)
{
	struct wire_exec *exec = begin(CHILD, "a");

	execs_read(&execs, &segment, &ticks);
	cr_expect(not(execs_has(&execs, CHILD)));
	end(exec);
	read_and_settle();
	expect(CHILD, "a");
}

Test(heap_execs, that_were_written_over_are_counted)
{
	for (int32_t i = 0; i < WIRE_EXECS + 10; i++)
		say(1000 + i, "a");
	read_and_settle();
	cr_expect(eq(u64, execs.missed, 10));
	for (int32_t i = 10; i < WIRE_EXECS + 10; i++)
		expect(1000 + i, "a");
	expect_none();
}

Test(heap_execs, whose_failure_may_have_been_missed_are_no_execs)
{
	say(CHILD, "a");
	execs_read(&execs, &segment, &ticks);
	for (int32_t i = 0; i < WIRE_EXECS + 1; i++)
		say(OTHER, i % 2 ? NULL : "b");
	execs_read(&execs, &segment, &ticks);
	cr_expect(not(execs_has(&execs, CHILD)));
	cr_expect(eq(u64, execs.missed, 2));
}

Test(heap_execs, that_cannot_be_are_counted_and_nothing_else)
{
	struct wire_exec *exec = begin(CHILD, "a");

	memset(exec->path, 'x', sizeof(exec->path));
	end(exec);
	say(0, "a");
	say(-5, "a");
	segment.shared->exec[3].number = 77;
	segment.shared->execs_used++;
	read_and_settle();
	cr_expect(eq(u64, execs.missed, 3));
	expect_none();
}

Test(heap_execs, of_a_program_that_says_it_without_end_are_bounded)
{
	for (int32_t i = 0; i < 100; i++) {
		for (int32_t j = 0; j < WIRE_EXECS; j++)
			say(CHILD, "a");
		execs_read(&execs, &segment, &ticks);
	}
	cr_expect(lt(sz, execs.waiting.nr, 5000));
	cr_expect(eq(u64, execs.waiting.nr + execs.missed, 100 * WIRE_EXECS));
}
