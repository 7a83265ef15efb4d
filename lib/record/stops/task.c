/* SPDX-License-Identifier: MIT */
#include "record/stops/task.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"

static int open_file(const struct task *task, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)task->pid, (int)task->tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int task_open(struct task *task, pid_t pid, pid_t tid)
{
	*task = (struct task){ .pid = pid, .tid = tid, .look_fd = -1 };
	task->used_fd = open_file(task, "schedstat");
	if (task->used_fd < 0)
		return task->used_fd;
	task->look_fd = open_file(task, "stat");
	if (task->look_fd >= 0)
		return 0;
	close(task->used_fd);
	task->used_fd = -1;
	return task->look_fd;
}

void task_close(struct task *task)
{
	if (task->used_fd >= 0)
		close(task->used_fd);
	if (task->look_fd >= 0)
		close(task->look_fd);
	task->used_fd = task->look_fd = -1;
}

static int read_text(int fd, char *text, size_t size)
{
	ssize_t nr = pread(fd, text, size - 1, 0);

	if (nr <= 0)
		return nr < 0 ? -errno : -ESRCH;
	text[nr] = '\0';
	return 0;
}

int task_used(const struct task *task, struct task_use *use)
{
	char text[128], *end;
	int ret = read_text(task->used_fd, text, sizeof(text));

	if (ret < 0)
		return ret;
	use->used_ns = strtoull(text, &end, 10);
	use->waited_ns = strtoull(end, &end, 10);
	use->turns = strtoull(end, NULL, 10);
	return 0;
}

/* fields begins with the state, which is the third one by proc(5); NULL: there are not so many. */
static const char *field(const char *fields, int number)
{
	for (int i = 3; fields && i < number; i++) {
		fields = strchr(fields, ' ');
		if (fields)
			fields++;
	}
	return fields;
}

/* stime */
static uint64_t kernel_ns_of(const char *fields)
{
	const uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	const char *stime = field(fields, 15);

	return stime ? strtoull(stime, NULL, 10) * tick_ns : 0;
}

/* startcode, endcode, startstack: with addresses chosen at random, of this exec alone.  The first is 0
 * while the kernel is still at it. */
static uint64_t program_of(const char *fields)
{
	uint64_t start, end, stack;

	fields = field(fields, 26);
	if (!fields ||
	    sscanf(fields, "%" SCNu64 " %" SCNu64 " %" SCNu64, &start, &end, &stack) != 3 || !start)
		return 0;
	return map_hash(start + map_hash(end + map_hash(stack)));
}

/* The name may contain anything, parentheses too. */
int task_look(const struct task *task, struct task_look *look)
{
	char text[2048], *name, *end;
	int ret = read_text(task->look_fd, text, sizeof(text));

	if (ret < 0)
		return ret;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end[1] != ' ')
		return -EINVAL;
	*end = '\0';
	snprintf(look->name, sizeof(look->name), "%s", name + 1);
	look->state = end[2];
	look->kernel_ns = kernel_ns_of(end + 2);
	look->program = program_of(end + 2);
	return 0;
}

bool task_use_is_told(void)
{
	struct task_use use = { 0 };
	struct task self;

	if (task_open(&self, getpid(), getpid()) < 0)
		return false;
	task_used(&self, &use);
	task_close(&self);
	return use.turns;
}

bool task_children_are_told(void)
{
	const struct task self = { .pid = getpid(), .tid = getpid() };
	int fd = open_file(&self, "children");

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

pid_t task_tracer(const struct task *task)
{
	static const char label[] = "\nTracerPid:";
	char text[4096];
	const char *line;
	int fd = open_file(task, "status");

	if (fd < 0)
		return 0;
	line = read_text(fd, text, sizeof(text)) < 0 ? NULL : strstr(text, label);
	close(fd);
	return line ? (pid_t)strtol(line + strlen(label), NULL, 10) : 0;
}

void task_children(const struct task *task, struct task_pids *children)
{
	int fd = open_file(task, "children");
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int pid;

	if (!file && fd >= 0)
		close(fd);
	if (!file)
		return;
	while (fscanf(file, "%d", &pid) == 1)
		vec_push(children, (pid_t)pid);
	fclose(file);
}
