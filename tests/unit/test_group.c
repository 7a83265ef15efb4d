/* SPDX-License-Identifier: MIT */
/* Software events only: they are there without a PMU, and for every user where perf is allowed. */
#include "stat/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static const struct event_type *types[2];

static void find_types_or_skip(void)
{
	struct group group;
	int ret;

	types[0] = event_type_find("task-clock");
	types[1] = event_type_find("page-faults");
	ret = group_open(&group, types, 2, &group_here, true);
	if (ret < 0)
		cr_skip_test("perf_event_open is refused here: %s", strerror(-ret));
	group_close(&group);
}

static void touch_pages(size_t nr)
{
	size_t size = nr * (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += (size_t)sysconf(_SC_PAGESIZE))
		((volatile char *)memory)[i] = 1;
	munmap(memory, size);
}

Test(group, counts_only_while_enabled)
{
	struct group_counts counts;
	struct group group;

	find_types_or_skip();
	cr_assert(eq(int, group_open(&group, types, 2, &group_here, true), 0));
	touch_pages(100);
	cr_assert(eq(int, group_read(&group, &counts), 0));
	cr_expect(eq(u64, counts.values[1], 0));
	cr_expect(eq(u64, counts.running_ns, 0));

	group_enable(&group);
	touch_pages(100);
	cr_assert(eq(int, group_read(&group, &counts), 0));
	cr_expect(ge(u64, counts.values[1], 100));
	cr_expect(lt(u64, counts.values[1], 150));
	cr_expect(gt(u64, counts.values[0], 0));
	cr_expect(eq(u64, counts.running_ns, counts.enabled_ns));
	group_close(&group);
}

Test(group, counts_what_children_do)
{
	struct group_counts counts;
	struct group group;
	pid_t child;

	find_types_or_skip();
	cr_assert(eq(int, group_open(&group, types, 2, &group_here, true), 0));
	group_enable(&group);
	child = fork();
	if (!child) {
		touch_pages(1000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	cr_assert(eq(int, group_read(&group, &counts), 0));
	cr_expect(ge(u64, counts.values[1], 1000));
	group_close(&group);
}

Test(group, leaves_nothing_open_when_a_member_is_refused)
{
	struct event_type unknown = { .name = "unknown", .type = 9999 };
	const struct event_type *with_unknown[] = { NULL, &unknown };
	struct group group;
	int before, after;

	find_types_or_skip();
	with_unknown[0] = types[0];
	before = dup(0);
	cr_expect(lt(int, group_open(&group, with_unknown, 2, &group_here, true), 0));
	after = dup(0);
	cr_expect(eq(sz, group.nr, 0));
	cr_expect(eq(int, after, before + 1));
}

Test(group, software_events_are_always_schedulable)
{
	find_types_or_skip();
	cr_expect(group_schedulable(types, 2, true));
}
