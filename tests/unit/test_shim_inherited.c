/* SPDX-License-Identifier: MIT */
#include "shim/inherited.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "base/proc_file.h"

static uint32_t own;

/* Each of these lets everything through, which is not known. */
static void set_up(void)
{
	static struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, code };

	for (int i = 0; i < 2; i++)
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			cr_skip_test("no filter can be set here");
	own = proc_filters("/proc/self/status");
	if (own < 2)
		cr_skip_test("this kernel does not count filters");
}

TestSuite(shim_inherited, .init = set_up);

/* Where so many are known, which let this through. */
static bool allows(uint32_t nr, uint64_t calls, uint32_t nr_of_recorder)
{
	return inherited_allow_session((struct filters){ nr, calls }, nr_of_recorder);
}

Test(shim_inherited, filters_that_the_recorder_has_too_are_no_obstacle)
{
	cr_expect(allows(0, FILTERS_ALL_CALLS, own));
	cr_expect(not(filter_is_on));
	cr_expect(eq(u32, filter_known().nr, own));
}

Test(shim_inherited, filters_that_nobody_knows_leave_the_loaders_calls)
{
	static const uint64_t zero[FILTER_ARGUMENTS];

	cr_expect(not(allows(0, FILTERS_ALL_CALLS, own - 1)));
	cr_expect(filter_is_on);
	cr_expect(filter_allows(__NR_openat, zero));
	cr_expect(not(filter_allows(__NR_getpid, zero)));
}

Test(shim_inherited, filters_that_are_all_known_are_no_obstacle_if_they_let_enough_through)
{
	const uint64_t all_but_kill = FILTERS_ALL_CALLS & ~filter_bit(__NR_kill);

	cr_expect(allows(own, all_but_kill, 0));
	cr_expect(filter_is_on);
	cr_expect(not(allows(own, all_but_kill & ~filter_bit(__NR_madvise), 0)));
}

Test(shim_inherited, of_more_or_fewer_filters_than_there_are_nothing_is_known)
{
	cr_expect(not(allows(own - 1, FILTERS_ALL_CALLS, 0)));
	cr_expect(not(allows(own + 1, FILTERS_ALL_CALLS, 0)));
}
