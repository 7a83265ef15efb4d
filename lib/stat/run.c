/* SPDX-License-Identifier: MIT */
#include "stat/run.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>

#include "base/log.h"

static const int watched[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static sigset_t watched_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		sigaddset(&set, watched[i]);
	return set;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int run_begin(struct run *run, char *const *arguments, struct error *err)
{
	struct launch_config config = { .arguments = arguments, .inheritance = &run->inheritance };
	sigset_t set = watched_set();
	int ret;

	*run = (struct run){ .exit_status = -1 };
	launch_remember(&run->inheritance);
	signal(SIGCHLD, SIG_DFL); /* ignored, there would be nothing to wait for */
	signal(SIGPIPE, SIG_IGN); /* our output may be gone when the program ends */
	sigprocmask(SIG_BLOCK, &set, NULL);

	ret = launch_fork(&run->launch, &config, err);
	if (ret < 0)
		launch_restore(&run->inheritance);
	return ret;
}

static bool ended(struct run *run)
{
	int status;

	if (wait4(run->launch.pid, &status, WNOHANG, &run->usage) != run->launch.pid)
		return false;
	if (WIFEXITED(status))
		run->exit_status = WEXITSTATUS(status);
	else
		run->signal = WTERMSIG(status);
	return true;
}

/* Whether to go on waiting. */
static bool pass_on(struct run *run, const siginfo_t *info, unsigned int *nr_stops)
{
	/* From the terminal: the program, in the same process group, got it too. */
	if (info->si_signo == SIGCHLD || info->si_code == SI_KERNEL)
		return true;
	if (info->si_signo != SIGINT && ++*nr_stops > 1)
		return false;
	log_debug(LOG_STAT, "passing signal %d on to %d", info->si_signo, (int)run->launch.pid);
	kill(run->launch.pid, info->si_signo);
	return true;
}

int run_to_end(struct run *run, struct error *err)
{
	sigset_t set = watched_set();
	unsigned int nr_stops = 0;
	int64_t start_ns = now_ns();
	siginfo_t info;
	int ret = launch_exec(&run->launch, err);

	if (ret < 0)
		return ret;
	while (!ended(run)) {
		if (sigwaitinfo(&set, &info) > 0 && !pass_on(run, &info, &nr_stops)) {
			run->left_running = true;
			break;
		}
	}
	run->wall_ns = now_ns() - start_ns;
	return 0;
}

void run_release(struct run *run)
{
	launch_cancel(&run->launch);
	launch_restore(&run->inheritance);
}
