/* SPDX-License-Identifier: MIT */
#include "record/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"
#include "record/moments.h"

#define MS UINT64_C(1000000)
#define SHORTEST_NS (2 * MS)
#define LONGEST_NS (50 * MS)
#define PUSH_NS (1000 * MS)
#define STATUS_BYTES 16384

/* Of a pid; which of its images that was is told later. */
struct look {
	int32_t pid;
	uint64_t time_ns;
	struct profile_memory memory;
};

struct memory {
	struct aggregate *aggregate;
	struct images *images;
	uint64_t start_ns;
	VEC(int32_t) pids; /* that run now */
	VEC(struct look) looks;
	struct map series_of; /* process to index */
	VEC(struct series {
		uint32_t process;
		bool over; /* at the last push */
		struct moments moments;
	})
	series; /* of processes that run, or have just ended */
	uint64_t pushed_ns;
	uint64_t nr_refused;
	int refused_errno;

	pthread_t thread;
	int stop_fd;
};

/* --- one look ---------------------------------------------------------------------------------*/

/* "RssAnon:	     123 kB" */
static bool parse_field(const char *status, const char *name, uint64_t *bytes)
{
	const char *line = strstr(status, name);
	unsigned long long kilobytes;

	if (!line || sscanf(line + strlen(name), " %llu kB", &kilobytes) != 1)
		return false;
	*bytes = kilobytes * 1024;
	return true;
}

bool memory_parse(const char *status, struct profile_memory *memory)
{
	return parse_field(status, "\nVmHWM:", &memory->peak_rss_bytes) &&
	       parse_field(status, "\nRssAnon:", &memory->anonymous_bytes) &&
	       parse_field(status, "\nRssFile:", &memory->file_bytes) &&
	       parse_field(status, "\nRssShmem:", &memory->shared_bytes) &&
	       parse_field(status, "\nVmSwap:", &memory->swap_bytes);
}

/* A negative errno: it cannot be read. */
static ssize_t read_status(int32_t pid, char *status)
{
	char path[32];
	ssize_t nr;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	nr = read(fd, status, STATUS_BYTES - 1);
	nr = nr < 0 ? -errno : nr;
	close(fd);
	status[nr < 0 ? 0 : nr] = '\0';
	return nr;
}

static void look_at(struct memory *memory, int32_t pid)
{
	struct look look = { .pid = pid, .time_ns = clock_now_ns() };
	char status[STATUS_BYTES];
	ssize_t nr = read_status(pid, status);

	if (nr >= 0 && memory_parse(status, &look.memory)) {
		look.memory.time_us = ((int64_t)look.time_ns - (int64_t)memory->start_ns) / 1000;
		vec_push(&memory->looks, look);
	} else if (nr < 0 && nr != -ENOENT && nr != -ESRCH) {
		memory->nr_refused++;
		memory->refused_errno = (int)-nr;
	}
}

static void add_pid(void *context, int32_t pid)
{
	struct memory *memory = context;

	vec_push(&memory->pids, pid);
}

static void look_at_all(struct memory *memory)
{
	memory->pids.nr = 0;
	images_each_running(memory->images, add_pid, memory);
	vec_each(&memory->pids, pid) look_at(memory, *pid);
}

/* --- what the profile gets --------------------------------------------------------------------*/

static struct moments *moments_of(struct memory *memory, uint32_t process)
{
	bool added;
	uint64_t *index = map_add(&memory->series_of, process, &added);

	if (added) {
		*index = memory->series.nr;
		vec_push(&memory->series, (struct series){ .process = process });
	}
	return &memory->series.at[*index].moments;
}

/* Gives each look to the image that ran; those that cannot be told yet stay. */
static void sort_looks(struct memory *memory, bool at_last)
{
	size_t kept = 0;

	for (size_t i = 0; i < memory->looks.nr; i++) {
		const struct look *look = &memory->looks.at[i];
		uint32_t process = images_id_at(memory->images, look->pid, look->time_ns, at_last);

		if (process != PROFILE_NONE)
			moments_add(moments_of(memory, process), &look->memory);
		else if (!at_last)
			memory->looks.at[kept++] = *look;
	}
	memory->looks.nr = kept;
}

static void push_series(const struct memory *memory, struct series *series, bool at_last)
{
	struct moments_taken taken = moments_take(&series->moments, at_last);

	if (taken.nr)
		aggregate_memory(memory->aggregate, series->process, taken.at, taken.nr,
				 taken.whole);
}

/* The last one takes its place. */
static void forget(struct memory *memory, size_t index)
{
	struct series *series = &memory->series.at[index];

	map_remove(&memory->series_of, series->process);
	moments_release(&series->moments);
	if (index != --memory->series.nr) {
		*series = memory->series.at[memory->series.nr];
		map_set(&memory->series_of, series->process, index);
	}
}

static void push(struct memory *memory, bool at_last)
{
	sort_looks(memory, at_last);
	for (size_t i = memory->series.nr; i--;) {
		struct series *series = &memory->series.at[i];
		bool was_over = series->over; /* so all looks at it have been sorted since */

		series->over = images_is_over(memory->images, series->process);
		push_series(memory, series, at_last || was_over);
		if (was_over)
			forget(memory, i);
	}
}

static void push_now_and_then(struct memory *memory, uint64_t now_ns)
{
	if (now_ns - memory->pushed_ns < PUSH_NS)
		return;
	memory->pushed_ns = now_ns;
	push(memory, false);
}

static void tell_refused(const struct memory *memory)
{
	char *detail;

	if (!memory->nr_refused)
		return;
	detail = xasprintf(PROFILE_MEMORY_UNREADABLE "%s", strerror(memory->refused_errno));
	aggregate_quality(memory->aggregate, PROFILE_UNREADABLE, detail, memory->nr_refused);
	free(detail);
}

/* --- the thread -------------------------------------------------------------------------------*/

/* took_ns: CPU time. */
static uint64_t pause_ns(uint64_t elapsed_ns, uint64_t took_ns)
{
	uint64_t pause = elapsed_ns / 64;

	if (pause < SHORTEST_NS)
		pause = SHORTEST_NS;
	if (pause > LONGEST_NS)
		pause = LONGEST_NS;
	return pause > 100 * took_ns ? pause : 100 * took_ns;
}

/* False: stop. */
static bool rest(const struct memory *memory, uint64_t ns)
{
	struct timespec time = { (time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS)) };
	struct pollfd stop = { .fd = memory->stop_fd, .events = POLLIN };

	return ppoll(&stop, 1, &time, NULL) <= 0;
}

static void *memory_thread(void *context)
{
	struct memory *memory = context;
	uint64_t used_ns, now_ns;

	do {
		used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		look_at_all(memory);
		used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns;
		now_ns = clock_now_ns();
		push_now_and_then(memory, now_ns);
	} while (rest(memory, pause_ns(now_ns - memory->start_ns, used_ns)));
	return NULL;
}

static void release(struct memory *memory)
{
	vec_each(&memory->series, series) moments_release(&series->moments);
	vec_free(&memory->series);
	vec_free(&memory->looks);
	vec_free(&memory->pids);
	map_release(&memory->series_of);
	if (memory->stop_fd >= 0)
		close(memory->stop_fd);
	free(memory);
}

int memory_start(struct memory **result, struct aggregate *aggregate, struct images *images,
		 uint64_t start_ns, struct error *err)
{
	struct memory *memory = xcalloc(1, sizeof(*memory));
	int ret;

	memory->aggregate = aggregate;
	memory->images = images;
	memory->start_ns = memory->pushed_ns = start_ns;
	memory->stop_fd = eventfd(0, EFD_CLOEXEC);
	ret = memory->stop_fd < 0
		      ? error_errno(err, errno, "make an eventfd")
		      : thread_start(&memory->thread, "cprof-memory", memory_thread, memory, err);
	if (ret < 0)
		release(memory);
	else
		*result = memory;
	return ret;
}

void memory_finish(struct memory *memory)
{
	if (!memory)
		return;
	eventfd_write(memory->stop_fd, 1);
	pthread_join(memory->thread, NULL);
	push(memory, true);
	tell_refused(memory);
	release(memory);
}
