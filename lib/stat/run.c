/* SPDX-License-Identifier: MIT */
#include "stat/run.h"

#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

int run_begin(struct run *run, char *const *arguments, struct error *err)
{
	struct launch_config config = { .arguments = arguments, .inheritance = &run->inheritance };
	int ret;

	*run = (struct run){ .exit_status = -1 };
	launch_init(&run->launch, arguments[0]);
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

/* -1: no ticks. */
static int start_timer(unsigned int interval_ms)
{
	struct timespec interval = { interval_ms / 1000, interval_ms % 1000 * 1000000L };
	struct itimerspec timer = { interval, interval };
	int fd = interval_ms ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) : -1;

	if (fd >= 0)
		timerfd_settime(fd, 0, &timer, NULL);
	return fd;
}

static void tick(const struct run_ticks *ticks, uint64_t start_ns)
{
	ticks->tick(ticks->context, (double)(clock_now_ns() - start_ns) / 1e9);
}

static enum supervise_event wait_for_end(struct run *run, const struct run_ticks *ticks,
					 uint64_t start_ns)
{
	int timer_fd = start_timer(ticks->interval_ms);
	enum supervise_event event;
	uint64_t expirations;

	for (;;) {
		event = supervise_wait(&run->supervisor, run->launch.pid, timer_fd);
		if (event == SUPERVISE_OTHER &&
		    read(timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
			tick(ticks, start_ns);
		else if (event != SUPERVISE_COMMIT && event != SUPERVISE_OTHER)
			break;
	}
	if (timer_fd >= 0)
		close(timer_fd);
	return event;
}

int run_to_end(struct run *run, const struct run_ticks *ticks, struct error *err)
{
	enum supervise_event event;
	uint64_t start_ns = clock_now_ns();
	int ret = launch_exec(&run->launch, err);

	if (ret < 0)
		return ret;
	event = wait_for_end(run, ticks, start_ns);
	run->wall_ns = (int64_t)(clock_now_ns() - start_ns);
	run->left_running = event == SUPERVISE_LEAVE;
	if (ticks->interval_ms)
		tick(ticks, start_ns);
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
