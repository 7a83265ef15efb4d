/* SPDX-License-Identifier: MIT */
#include "record/stops/group.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "record/stops/stops.h"

enum {
	SMALL = 4, /* threads: to look at all of them costs no more, and does not wait for a tick */
	LIST_EVERY = 16, /* looks: one thread may have taken the place of another */
};

struct group *group_new(pid_t pid)
{
	struct group *group = xcalloc(1, sizeof(*group));

	group->pid = pid;
	/* Of any process: its number says so.  It cannot fail but for one that is not there. */
	if (clock_getcpuclockid(pid, &group->clock))
		group->clock = CLOCK_MONOTONIC;
	return group;
}

static void thread_free(struct group_thread *thread)
{
	task_close(&thread->task);
	free(thread);
}

void group_free(struct group *group)
{
	if (group->has_timer)
		timer_delete(group->timer);
	vec_each(&group->threads, thread) thread_free(*thread);
	vec_free(&group->threads);
	free(group);
}

/* As of the kernel's last tick. */
enum group_state group_look(struct group *group)
{
	struct timespec used;
	uint64_t used_ns;

	if (clock_gettime(group->clock, &used) < 0)
		return GROUP_ENDED;
	used_ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	if (used_ns == group->used_ns && group->threads.nr > SMALL)
		return GROUP_IDLE;
	group->used_ns = used_ns;
	return GROUP_BUSY;
}

void group_arm(struct group *group, uint64_t cpu_ns)
{
	const struct itimerspec when = { .it_value = { (time_t)(cpu_ns / 1000000000),
						       (long)(cpu_ns % 1000000000) } };

	if (!group->has_timer)
		group->has_timer = stops_make_timer(&group->timer, group->clock) >= 0;
	if (group->has_timer)
		timer_settime(group->timer, 0, &when, NULL);
}

bool group_has_fired(const struct group *group)
{
	struct itimerspec left;

	return !group->has_timer || timer_gettime(group->timer, &left) < 0 ||
	       (!left.it_value.tv_sec && !left.it_value.tv_nsec);
}

static bool is_known(const struct group *group, pid_t tid)
{
	for (size_t i = group->threads.nr; i--;)
		if (group->threads.at[i]->task.tid == tid)
			return true;
	return false;
}

static int add(struct group *group, pid_t tid)
{
	struct group_thread *thread = xcalloc(1, sizeof(*thread));
	int ret = task_open(&thread->task, group->pid, tid);

	if (ret < 0) {
		free(thread);
		return ret;
	}
	thread->group = group;
	thread->is_new = true;
	vec_push(&group->threads, thread);
	return 0;
}

static int list(struct group *group, const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int ret = 0;

	while (folder && (entry = readdir(folder))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid > 0 && !is_known(group, tid) && add(group, tid) == -EMFILE)
			ret = -EMFILE;
	}
	if (folder)
		closedir(folder);
	return ret;
}

/* The folder has a link for each thread. */
int group_list(struct group *group)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)group->pid);
	if (stat(path, &st) < 0)
		return 0;
	if (st.st_nlink == group->nr_listed && group->looks++ % LIST_EVERY)
		return 0;
	group->nr_listed = st.st_nlink;
	return list(group, path);
}

void group_remove(struct group *group, struct group_thread *thread)
{
	for (size_t i = 0; i < group->threads.nr; i++)
		if (group->threads.at[i] == thread) {
			group->threads.at[i] = *vec_last(&group->threads);
			group->threads.nr--;
			break;
		}
	thread_free(thread);
}
