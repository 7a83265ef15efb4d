/* SPDX-License-Identifier: MIT */
#include "record/target/wakeups.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const char *const names[] = {
	[WAKEUP_FILE_FAILED] = "the failure of the file",
	[WAKEUP_DELAY_OVER] = "the end of the delay",
	[WAKEUP_TIME_OVER] = "the end of the recording",
	[WAKEUP_PROCESS_ENDED] = "the end of a process",
	[WAKEUP_INTERVAL] = "the end of an interval",
};

int wakeups_open(struct wakeups *wakeups, struct error *err)
{
	*wakeups = (struct wakeups){ .fd = epoll_create1(EPOLL_CLOEXEC) };
	return wakeups->fd < 0 ? error_errno(err, errno, "make an epoll descriptor to wait with")
			       : 0;
}

void wakeups_close(struct wakeups *wakeups)
{
	vec_each(&wakeups->timers, timer) close(*timer);
	vec_free(&wakeups->timers);
	if (wakeups->fd >= 0)
		close(wakeups->fd);
	wakeups->fd = -1;
}

int wakeups_when(struct wakeups *wakeups, int fd, enum wakeup what, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT,
				     .data.u64 = ((uint64_t)fd << 32) | what };

	if (epoll_ctl(wakeups->fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return error_errno(err, errno, "wait for %s", names[what]);
	return 0;
}

/* What expires again does so once it was read. */
static void rearm(const struct wakeups *wakeups, struct epoll_event event)
{
	int fd = (int)(event.data.u64 >> 32);
	uint64_t expirations;

	if (read(fd, &expirations, sizeof(expirations)) == sizeof(expirations)) {
		event.events = EPOLLIN | EPOLLONESHOT;
		epoll_ctl(wakeups->fd, EPOLL_CTL_MOD, fd, &event);
	}
}

/* every_ns: 0 for a timer that expires once. */
static int add_timer(struct wakeups *wakeups, int64_t after_ns, int64_t every_ns, enum wakeup what,
		     struct error *err)
{
	const struct itimerspec when = {
		.it_value = { .tv_sec = after_ns / 1000000000, .tv_nsec = after_ns % 1000000000 },
		.it_interval = { .tv_sec = every_ns / 1000000000, .tv_nsec = every_ns % 1000000000 }
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return error_errno(err, errno, "make a timer for %s", names[what]);
	vec_push(&wakeups->timers, fd);
	if (timerfd_settime(fd, 0, &when, NULL) < 0)
		return error_errno(err, errno, "set the timer for %s", names[what]);
	return wakeups_when(wakeups, fd, what, err);
}

int wakeups_after(struct wakeups *wakeups, int64_t after_ns, enum wakeup what, struct error *err)
{
	return add_timer(wakeups, after_ns, 0, what, err);
}

int wakeups_every(struct wakeups *wakeups, int64_t every_ns, enum wakeup what, struct error *err)
{
	return add_timer(wakeups, every_ns, every_ns, what, err);
}

enum wakeup wakeups_next(struct wakeups *wakeups)
{
	struct epoll_event event;
	enum wakeup what;

	if (epoll_wait(wakeups->fd, &event, 1, 0) != 1)
		return WAKEUP_NONE;
	what = (enum wakeup)(event.data.u64 & UINT32_MAX);
	if (what == WAKEUP_INTERVAL)
		rearm(wakeups, event);
	return what;
}
