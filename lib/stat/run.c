/* SPDX-License-Identifier: MIT */
#include "stat/run.h"

#include <sys/wait.h>

#include "base/clock.h"

enum { SOON_NS = 1000000 };

int run_open(struct run *run, struct error *err)
{
	*run = (struct run){ .wakeups = { .fd = -1 } };
	launch_init(&run->launch, NULL);
	launch_remember(&run->inheritance);
	return supervise_begin(&run->supervisor, err);
}

static int begin(struct run *run, const char *program, struct error *err)
{
	launch_init(&run->launch, program);
	run->wall_ns = 0;
	run->exit_status = -1;
	run->signal = 0;
	run->left_running = false;
	return wakeups_open(&run->wakeups, err);
}

int run_begin(struct run *run, char *const *arguments, struct error *err)
{
	struct launch_config config = { .arguments = arguments, .inheritance = &run->inheritance };
	int ret = begin(run, arguments[0], err);

	if (!ret)
		ret = launch_fork(&run->launch, &config, err);
	if (ret < 0)
		run_finish(run);
	return ret;
}

int run_attach(struct run *run, const pid_t *pids, size_t nr, struct error *err)
{
	int ret = begin(run, NULL, err);

	if (!ret)
		ret = attach_open(&run->attach, pids, nr, err);
	for (size_t i = 0; i < run->attach.nr && ret >= 0; i++)
		ret = wakeups_when(&run->wakeups, run->attach.at[i].fd, WAKEUP_PROCESS_ENDED, err);
	if (ret < 0)
		run_finish(run);
	return ret;
}

static void note_end(struct run *run, int status)
{
	if (WIFEXITED(status))
		run->exit_status = WEXITSTATUS(status);
	else
		run->signal = WTERMSIG(status);
}

static int set_timers(struct run *run, const struct run_times *times, struct error *err)
{
	int ret = 0;

	if (times->interval_ms)
		ret = wakeups_every(&run->wakeups, times->interval_ms * 1000000LL, WAKEUP_INTERVAL,
				    err);
	if (ret >= 0 && times->duration_ns && run->attach.nr)
		ret = wakeups_after(&run->wakeups, times->duration_ns, WAKEUP_TIME_OVER, err);
	return ret;
}

static void tick(const struct run_times *times, uint64_t start_ns)
{
	times->tick(times->context, (double)(clock_now_ns() - start_ns) / 1e9);
}

/* The last interval is up with the time of all: it is told at the end. */
static bool is_last(const struct run *run, const struct run_times *times, uint64_t start_ns)
{
	return run->attach.nr && times->duration_ns &&
	       clock_now_ns() - start_ns + SOON_NS >= (uint64_t)times->duration_ns;
}

/* Until the end of the program, or of what is said about processes that run already. */
static void wait_for_end(struct run *run, const struct run_times *times, uint64_t start_ns)
{
	pid_t child = run->attach.nr ? -1 : run->launch.pid;
	size_t nr_running = run->attach.nr;

	for (;;) {
		enum supervise_event event =
			supervise_wait(&run->supervisor, child, run->wakeups.fd);
		enum wakeup wakeup =
			event == SUPERVISE_OTHER ? wakeups_next(&run->wakeups) : WAKEUP_NONE;

		run->left_running = event == SUPERVISE_LEAVE || wakeup == WAKEUP_TIME_OVER;
		if (run->left_running || event == SUPERVISE_ENDED)
			break;
		if (wakeup == WAKEUP_INTERVAL && !is_last(run, times, start_ns))
			tick(times, start_ns);
		else if (wakeup == WAKEUP_PROCESS_ENDED && !--nr_running)
			break;
	}
}

int run_to_end(struct run *run, const struct run_times *times, struct error *err)
{
	uint64_t start_ns = clock_now_ns();
	int ret = set_timers(run, times, err);

	if (ret >= 0 && !run->attach.nr)
		ret = launch_exec(&run->launch, err);
	if (ret < 0)
		return ret;
	wait_for_end(run, times, start_ns);
	run->wall_ns = (int64_t)(clock_now_ns() - start_ns);
	if (times->interval_ms)
		tick(times, start_ns);
	if (!run->left_running && !run->attach.nr)
		note_end(run, run->supervisor.wait_status);
	return 0;
}

void run_finish(struct run *run)
{
	launch_cancel(&run->launch);
	attach_close(&run->attach);
	wakeups_close(&run->wakeups);
}

void run_close(struct run *run)
{
	supervise_end(&run->supervisor);
	launch_restore(&run->inheritance);
}
