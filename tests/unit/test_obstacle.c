/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "record/obstacle.h"

Test(obstacle, a_program_like_this_one_has_none)
{
	cr_assert(zero(ptr, (void *)obstacle_find(getpid(), "/bin/sh")));
}

Test(obstacle, of_a_process_that_has_ended_nothing_is_claimed)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	cr_assert(zero(ptr, (void *)obstacle_find(pid, "/bin/sh")));
	waitpid(pid, NULL, 0);
	cr_assert(zero(ptr, (void *)obstacle_find(pid, "/bin/sh")));
}
