/* SPDX-License-Identifier: MIT */
#include "stat/run.h"

#include <sys/wait.h>

#include "base/clock.h"

int run_begin(struct run *run, char *const *arguments, struct error *err)
{
	struct launch_config config = { .arguments = arguments, .inheritance = &run->inheritance };
	int ret;

	*run = (struct run){ .exit_status = -1, .launch = { .release_fd = -1, .error_fd = -1 } };
	launch_remember(&run->inheritance);
	ret = supervise_begin(&run->supervisor, err);
	if (!ret)
		ret = launch_fork(&run->launch, &config, err);
	if (ret < 0)
		run_release(run);
	return ret;
}

static void note_end(struct run *run, int status)
{
	if (WIFEXITED(status))
		run->exit_status = WEXITSTATUS(status);
	else
		run->signal = WTERMSIG(status);
}

int run_to_end(struct run *run, struct error *err)
{
	enum supervise_event event;
	uint64_t start_ns = clock_now_ns();
	int ret = launch_exec(&run->launch, err);

	if (ret < 0)
		return ret;
	do
		event = supervise_wait(&run->supervisor, run->launch.pid, -1);
	while (event == SUPERVISE_COMMIT);

	run->wall_ns = (int64_t)(clock_now_ns() - start_ns);
	run->left_running = event == SUPERVISE_LEAVE;
	if (!run->left_running)
		note_end(run, run->supervisor.wait_status);
	return 0;
}

void run_release(struct run *run)
{
	launch_cancel(&run->launch);
	supervise_end(&run->supervisor);
	launch_restore(&run->inheritance);
}
