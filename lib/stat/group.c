/* SPDX-License-Identifier: MIT */
#include "stat/group.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "record/events/perf_open.h"

#define TRIAL_TURNS 200000 /* some hundred microseconds */

enum {
	READ_TRIES = 10000,
	READ_AGAIN_US = 100,
};

static const pid_t this_thread = 0;
const struct group_threads group_here = { &this_thread, 1, GROUP_STOPPED };

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

static void close_all(int *fds, size_t nr)
{
	while (nr)
		close(fds[--nr]);
}

static int open_thread(int *fds, const struct event_type *const *types, size_t nr, pid_t tid,
		       enum group_start start, bool user_only)
{
	for (size_t i = 0; i < nr; i++) {
		struct perf_event_attr attr;

		set_attr(&attr, types[i], i == 0, start, user_only);
		fds[i] = perf_open(&attr, tid, -1, i ? fds[0] : -1);
		if (fds[i] < 0) {
			int ret = fds[i];

			close_all(fds, i);
			return ret;
		}
	}
	return 0;
}

int group_open(struct group *group, const struct event_type *const *types, size_t nr,
	       const struct group_threads *threads, bool user_only)
{
	int ret = -ESRCH;

	*group = (struct group){ .nr = nr };
	group->fds = xcalloc(nr * threads->nr + 1, sizeof(group->fds[0]));
	for (size_t i = 0; i < threads->nr; i++) {
		ret = open_thread(group->fds + group->nr_threads * nr, types, nr, threads->at[i],
				  threads->start, user_only);
		if (!ret)
			group->nr_threads++;
		else if (ret != -ESRCH)
			break;
	}
	if (!group->nr_threads || (ret < 0 && ret != -ESRCH)) {
		group_close(group);
		return ret;
	}
	return 0;
}

void group_enable(struct group *group)
{
	for (size_t i = 0; i < group->nr_threads; i++)
		ioctl(group->fds[i * group->nr], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

/* ECHILD: a thread that has inherited the group is just ending, and may have lost its CPU over it. */
static ssize_t read_leader(int leader, uint64_t *words, size_t size)
{
	ssize_t nr = -1;

	for (int tries = 0; tries < READ_TRIES; tries++) {
		nr = read(leader, words, size);
		if (nr >= 0 || (errno != ECHILD && errno != EINTR))
			break;
		usleep(READ_AGAIN_US);
	}
	return nr;
}

static int add_thread(const struct group *group, int leader, struct group_counts *counts)
{
	uint64_t words[3 + GROUPING_MAX_MEMBERS];
	size_t size = (3 + group->nr) * sizeof(words[0]);
	ssize_t nr = read_leader(leader, words, sizeof(words));

	if (nr < 0)
		return -errno;
	if ((size_t)nr < size || words[0] != group->nr)
		return -EIO;
	counts->enabled_ns += words[1];
	counts->running_ns += words[2];
	for (size_t i = 0; i < group->nr; i++)
		counts->values[i] += words[3 + i];
	return 0;
}

int group_read(const struct group *group, struct group_counts *counts)
{
	int ret = 0;

	*counts = (struct group_counts){ 0 };
	for (size_t i = 0; i < group->nr_threads && ret >= 0; i++)
		ret = add_thread(group, group->fds[i * group->nr], counts);
	return ret;
}

void group_close(struct group *group)
{
	close_all(group->fds, group->nr * group->nr_threads);
	free(group->fds);
	*group = (struct group){ 0 };
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

	if (group_open(&group, types, nr, &group_here, user_only) < 0)
		return false;
	group_enable(&group);
	run_for_a_moment();
	group_read(&group, &counts);
	group_close(&group);
	return counts.running_ns > 0;
}
