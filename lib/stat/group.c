/* SPDX-License-Identifier: MIT */
#include "stat/group.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "record/events/perf_open.h"

#define TRIAL_TURNS 200000 /* some hundred microseconds */

static void set_attr(struct perf_event_attr *attr, const struct event_type *type, bool leads,
		     enum group_start start, bool user_only)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = type->type,
		.config = type->config,
		.config1 = type->config1,
		.config2 = type->config2,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = leads,
		.enable_on_exec = leads && start == GROUP_FROM_EXEC,
		.inherit = 1,
		.exclude_kernel = user_only || type->exclude_kernel,
		.exclude_user = type->exclude_user,
	};
}

int group_open(struct group *group, const struct event_type *const *types, size_t nr, pid_t pid,
	       enum group_start start, bool user_only)
{
	group->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct perf_event_attr attr;
		int fd;

		set_attr(&attr, types[i], i == 0, start, user_only);
		fd = perf_open(&attr, pid, -1, i ? group->fds[0] : -1);
		if (fd < 0) {
			group_close(group);
			return fd;
		}
		group->fds[group->nr++] = fd;
	}
	return 0;
}

void group_enable(struct group *group)
{
	ioctl(group->fds[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

int group_read(const struct group *group, struct group_counts *counts)
{
	uint64_t words[3 + GROUPING_MAX_MEMBERS];
	size_t size = (3 + group->nr) * sizeof(words[0]);
	ssize_t nr = TEMP_FAILURE_RETRY(read(group->fds[0], words, sizeof(words)));

	if (nr < 0)
		return -errno;
	if ((size_t)nr < size || words[0] != group->nr)
		return -EIO;
	counts->enabled_ns = words[1];
	counts->running_ns = words[2];
	memcpy(counts->values, words + 3, group->nr * sizeof(words[0]));
	return 0;
}

void group_close(struct group *group)
{
	while (group->nr)
		close(group->fds[--group->nr]);
}

static void run_for_a_moment(void)
{
	for (volatile unsigned int i = 0; i < TRIAL_TURNS; i++)
		;
}

bool group_schedulable(const struct event_type *const *types, size_t nr, bool user_only)
{
	struct group_counts counts = { 0 };
	struct group group;

	if (group_open(&group, types, nr, 0, GROUP_STOPPED, user_only) < 0)
		return false;
	group_enable(&group);
	run_for_a_moment();
	group_read(&group, &counts);
	group_close(&group);
	return counts.running_ns > 0;
}
