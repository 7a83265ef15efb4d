/* SPDX-License-Identifier: MIT */
#include "record/wakeups.h"

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
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u32 = what };

	if (epoll_ctl(wakeups->fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return error_errno(err, errno, "wait for %s", names[what]);
	return 0;
}

int wakeups_after(struct wakeups *wakeups, int64_t after_ns, enum wakeup what, struct error *err)
{
	const struct itimerspec when = { .it_value = { .tv_sec = after_ns / 1000000000,
						       .tv_nsec = after_ns % 1000000000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return error_errno(err, errno, "make a timer for %s", names[what]);
	vec_push(&wakeups->timers, fd);
	if (timerfd_settime(fd, 0, &when, NULL) < 0)
		return error_errno(err, errno, "set the timer for %s", names[what]);
	return wakeups_when(wakeups, fd, what, err);
}

enum wakeup wakeups_next(struct wakeups *wakeups)
{
	struct epoll_event event;

	return epoll_wait(wakeups->fd, &event, 1, 0) == 1 ? (enum wakeup)event.data.u32
							  : WAKEUP_NONE;
}
