/* SPDX-License-Identifier: MIT */
#include "record/wakeups.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int wakeups_open(struct wakeups *wakeups, struct error *err)
{
	*wakeups = (struct wakeups){ .fd = epoll_create1(EPOLL_CLOEXEC) };
	return wakeups->fd < 0 ? error_errno(err, errno, "make an epoll descriptor") : 0;
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
		return error_errno(err, errno, "wait for a descriptor");
	return 0;
}

int wakeups_after(struct wakeups *wakeups, int64_t after_ns, enum wakeup what, struct error *err)
{
	const struct itimerspec when = { .it_value = { .tv_sec = after_ns / 1000000000,
						       .tv_nsec = after_ns % 1000000000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return error_errno(err, errno, "make a timer");
	vec_push(&wakeups->timers, fd);
	timerfd_settime(fd, 0, &when, NULL);
	return wakeups_when(wakeups, fd, what, err);
}

enum wakeup wakeups_next(struct wakeups *wakeups)
{
	struct epoll_event event;

	return epoll_wait(wakeups->fd, &event, 1, 0) == 1 ? (enum wakeup)event.data.u32
							  : WAKEUP_NONE;
}
