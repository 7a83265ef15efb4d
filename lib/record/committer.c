/* SPDX-License-Identifier: MIT */
#include "record/committer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"
#include "store/writer.h"

enum {
	COMMIT_EVERY_S = 1,
};

struct meta {
	const char *key;
	char *value;
};

struct committer {
	struct writer *writer; /* the thread's, while it runs */
	struct aggregate *aggregate;
	VEC(struct meta) meta; /* not written yet */
	int failed_fd;

	pthread_t thread;
	bool is_running;

	pthread_mutex_t lock; /* of what follows */
	struct profile_run run;
	pthread_cond_t wake;
	bool now, stop;
	void (*before)(void *context);
	void *before_context;
	bool failed;
	struct error error;
};

/* --- rows into the file: the writer's functions take it as first argument ---------------------*/

#define PUT(what)                                                               \
	static void put_##what(void *context, const struct profile_##what *row) \
	{                                                                       \
		writer_put_##what(context, row);                                \
	}

PUT(module)
PUT(address)
PUT(stack)
PUT(process)
PUT(thread)
PUT(event)
PUT(first_sample)
PUT(later_sample)
PUT(sample_sum)
PUT(heap)
PUT(heap_site)
PUT(heap_size)
PUT(heap_thread)
PUT(heap_handoff)
PUT(slice)
PUT(memory)
PUT(quality)

static void clear_slices(void *context, uint32_t process)
{
	writer_clear_slices(context, process);
}

static void clear_memory(void *context, uint32_t process)
{
	writer_clear_memory(context, process);
}

static const struct aggregate_sink sink = {
	.module = put_module,
	.address = put_address,
	.stack = put_stack,
	.process = put_process,
	.thread = put_thread,
	.event = put_event,
	.first_sample = put_first_sample,
	.later_sample = put_later_sample,
	.sample_sum = put_sample_sum,
	.heap = put_heap,
	.heap_site = put_heap_site,
	.heap_size = put_heap_size,
	.heap_thread = put_heap_thread,
	.heap_handoff = put_heap_handoff,
	.clear_slices = clear_slices,
	.slice = put_slice,
	.clear_memory = clear_memory,
	.memory = put_memory,
	.quality = put_quality,
};

static int64_t since_start_us(const struct profile_run *run)
{
	return ((int64_t)clock_now_ns() - run->start_monotonic_ns) / 1000;
}

static void put_meta(struct committer *committer)
{
	vec_each(&committer->meta, meta)
	{
		writer_put_meta(committer->writer, meta->key, meta->value);
		free(meta->value);
	}
	committer->meta.nr = 0;
}

/* Of a recording in progress, what is true at this commit. */
static struct profile_run run_now(struct committer *committer)
{
	struct profile_run run;

	pthread_mutex_lock(&committer->lock);
	run = committer->run;
	pthread_mutex_unlock(&committer->lock);
	if (!run.complete)
		run.wall_us = since_start_us(&run);
	return run;
}

static int commit(struct committer *committer, struct error *err)
{
	struct profile_run run = run_now(committer);

	writer_begin(committer->writer);
	writer_put_run(committer->writer, &run);
	put_meta(committer);
	aggregate_flush(committer->aggregate, &sink, committer->writer);
	return writer_commit(committer->writer, err);
}

/* --- the thread -------------------------------------------------------------------------------*/

static struct timespec next_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	time.tv_sec += COMMIT_EVERY_S;
	return time;
}

/* False: stop. */
static bool wait_for_next(struct committer *committer)
{
	struct timespec until = next_time();
	bool stop;
	int timeout = 0;

	pthread_mutex_lock(&committer->lock);
	while (!committer->now && !committer->stop && timeout != ETIMEDOUT)
		timeout = pthread_cond_timedwait(&committer->wake, &committer->lock, &until);
	committer->now = false;
	stop = committer->stop;
	pthread_mutex_unlock(&committer->lock);
	return !stop;
}

static void gather(struct committer *committer)
{
	void (*before)(void *context);

	pthread_mutex_lock(&committer->lock);
	before = committer->before;
	pthread_mutex_unlock(&committer->lock);
	if (before)
		before(committer->before_context);
}

static void fail(struct committer *committer, const struct error *error)
{
	pthread_mutex_lock(&committer->lock);
	committer->failed = true;
	committer->error = *error;
	pthread_mutex_unlock(&committer->lock);
	eventfd_write(committer->failed_fd, 1);
}

static void *committer_thread(void *context)
{
	struct committer *committer = context;
	struct error error = ERROR_INIT;

	while (wait_for_next(committer)) {
		int ret;

		gather(committer);
		ret = commit(committer, &error);
		/* Busy: somebody reads the file for long; the next commit includes this one. */
		if (ret < 0 && ret != ERR_BUSY) {
			fail(committer, &error);
			break;
		}
	}
	return NULL;
}

static void tell(struct committer *committer, bool *flag)
{
	pthread_mutex_lock(&committer->lock);
	*flag = true;
	pthread_cond_signal(&committer->wake);
	pthread_mutex_unlock(&committer->lock);
}

static void stop_thread(struct committer *committer)
{
	if (!committer->is_running)
		return;
	tell(committer, &committer->stop);
	pthread_join(committer->thread, NULL);
	committer->is_running = false;
}

int committer_open(struct committer **result, const char *path, struct aggregate *aggregate,
		   struct error *err)
{
	struct committer *committer = xcalloc(1, sizeof(*committer));
	pthread_condattr_t monotonic;
	int ret;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&committer->wake, &monotonic);
	pthread_mutex_init(&committer->lock, NULL);
	committer->aggregate = aggregate;
	committer->failed_fd = eventfd(0, EFD_CLOEXEC);
	ret = committer->failed_fd < 0 ? error_errno(err, errno, "make an eventfd")
				       : writer_open(&committer->writer, path, err);
	if (ret < 0) {
		committer_close(committer);
		committer = NULL;
	}
	*result = committer;
	return ret;
}

static void release(struct committer *committer)
{
	if (committer->failed_fd >= 0)
		close(committer->failed_fd);
	vec_each(&committer->meta, meta) free(meta->value);
	vec_free(&committer->meta);
	pthread_cond_destroy(&committer->wake);
	pthread_mutex_destroy(&committer->lock);
	free(committer);
}

void committer_close(struct committer *committer)
{
	if (!committer)
		return;
	stop_thread(committer);
	writer_close(committer->writer);
	release(committer);
}

void committer_discard(struct committer *committer)
{
	if (!committer)
		return;
	stop_thread(committer);
	writer_discard(committer->writer);
	release(committer);
}

const char *committer_path(const struct committer *committer)
{
	return writer_path(committer->writer);
}

void committer_meta(struct committer *committer, const char *key, char *value)
{
	vec_push(&committer->meta, (struct meta){ key, value });
}

int committer_start(struct committer *committer, const struct profile_run *run, struct error *err)
{
	int ret;

	committer_run(committer, run);
	/* A file that cannot be written should show before the program starts. */
	ret = commit(committer, err);
	if (ret < 0)
		return ret;
	ret = thread_start(&committer->thread, "cprof-writer", committer_thread, committer, err);
	committer->is_running = ret >= 0;
	return ret;
}

void committer_run(struct committer *committer, const struct profile_run *run)
{
	pthread_mutex_lock(&committer->lock);
	committer->run = *run;
	pthread_mutex_unlock(&committer->lock);
}

void committer_before(struct committer *committer, void (*before)(void *context), void *context)
{
	pthread_mutex_lock(&committer->lock);
	committer->before = before;
	committer->before_context = context;
	pthread_mutex_unlock(&committer->lock);
}

void committer_now(struct committer *committer)
{
	tell(committer, &committer->now);
}

int committer_failed_fd(const struct committer *committer)
{
	return committer->failed_fd;
}

bool committer_error(struct committer *committer, struct error *err)
{
	bool failed;

	pthread_mutex_lock(&committer->lock);
	failed = committer->failed;
	if (failed && err)
		*err = committer->error;
	pthread_mutex_unlock(&committer->lock);
	return failed;
}

int committer_finish(struct committer *committer, const struct profile_run *run, struct error *err)
{
	stop_thread(committer);
	committer_run(committer, run);
	if (committer_error(committer, err))
		return err ? err->code : ERR_INTERNAL;
	return commit(committer, err);
}
