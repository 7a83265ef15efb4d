/* SPDX-License-Identifier: MIT */
#include "record/attached.h"

#include <criterion/criterion.h>
#include <unistd.h>

#include "record/target/attach.h"

/* Two roots: this process's only thread, and one that was found later. */
enum { FIRST = 10, LATER = 11, CHILD = 12 };

static struct attached two_roots(void)
{
	struct attached attached = { 0 };

	map_set(&attached.roots, FIRST, 1);
	map_set(&attached.root_of, FIRST, FIRST);
	map_set(&attached.roots, LATER, 2);
	map_set(&attached.root_of, LATER, LATER);
	return attached;
}

static bool counts(struct attached *attached, pid_t root, pid_t tid)
{
	struct events events = { 0 };

	return attached_counts(attached, &events, root, tid);
}

Test(attached, counts_threads_that_have_one_root)
{
	struct attached attached = two_roots();

	for (int i = 0; i < 2; i++) {
		cr_expect(counts(&attached, FIRST, FIRST));
		cr_expect(counts(&attached, LATER, LATER));
		cr_expect(counts(&attached, LATER, CHILD));
	}
	attached_release(&attached);
}

Test(attached, closes_the_root_of_a_thread_that_had_inherited_events)
{
	struct attached attached = two_roots();

	cr_expect(counts(&attached, FIRST, LATER));
	cr_expect_not(counts(&attached, LATER, LATER));
	cr_expect(counts(&attached, FIRST, LATER));
	attached_release(&attached);
}

/* It ended before its first sample: what it started has both. */
Test(attached, closes_the_later_root_of_what_has_two, .description = "in either order")
{
	for (int later_first = 0; later_first < 2; later_first++) {
		struct attached attached = two_roots();

		attached_ended(&attached, LATER);
		cr_expect(counts(&attached, later_first ? LATER : FIRST, CHILD));
		cr_expect_eq(counts(&attached, later_first ? FIRST : LATER, CHILD), later_first);
		cr_expect(counts(&attached, FIRST, CHILD));
		cr_expect_not(counts(&attached, LATER, CHILD));
		attached_release(&attached);
	}
}

Test(attached, knows_no_root_of_a_thread_that_ended)
{
	struct attached attached = two_roots();

	cr_expect(counts(&attached, FIRST, CHILD));
	attached_ended(&attached, CHILD);
	cr_expect(counts(&attached, LATER, CHILD)); /* another one with its tid */
	cr_expect(counts(&attached, LATER, LATER));
	attached_release(&attached);
}
