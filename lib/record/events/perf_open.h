/* SPDX-License-Identifier: MIT */
/*
 * perf_open - perf_event_open(2), for which libc has no function.
 */
#ifndef RECORD_EVENTS_PERF_OPEN_H
#define RECORD_EVENTS_PERF_OPEN_H

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* A descriptor, closed on exec, or -errno. */
static inline int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

#endif
