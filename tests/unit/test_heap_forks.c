/* SPDX-License-Identifier: MIT */
#include "record/heap/forks.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static struct forks forks;
static struct blocks blocks;

static struct heritage *add(uint64_t sequence, uint64_t time_ns)
{
	struct heritage *heritage = heritage_new(&blocks, 0, NULL);

	forks_add(&forks, sequence, heritage, time_ns);
	return heritage;
}

static bool is_kept(uint64_t sequence)
{
	struct heritage *heritage = forks_take(&forks, sequence);

	heritage_free(heritage);
	return heritage;
}

static void release(void)
{
	forks_release(&forks);
	blocks_release(&blocks);
}

TestSuite(heap_forks, .fini = release);

Test(heap_forks, a_child_takes_what_its_own_fork_left)
{
	struct heritage *first = add(7, 1000), *second = add(9, 2000);

	cr_assert(eq(ptr, forks_take(&forks, 9), second));
	cr_assert(eq(ptr, forks_take(&forks, 9), NULL));
	cr_assert(eq(ptr, forks_take(&forks, 7), first));
	heritage_free(first);
	heritage_free(second);
}

Test(heap_forks, what_no_child_has_taken_in_time_is_forgotten)
{
	add(1, 1000);
	add(2, 2000);
	forks_forget(&forks, 1500 + FORKS_KEPT_NS);
	cr_assert(not(is_kept(1)));
	cr_assert(is_kept(2));
}

Test(heap_forks, nothing_is_forgotten_early_although_the_machine_has_just_booted)
{
	add(1, FORKS_KEPT_NS / 4);
	forks_forget(&forks, FORKS_KEPT_NS / 2);
	cr_assert(is_kept(1));
}
