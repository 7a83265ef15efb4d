/* SPDX-License-Identifier: MIT */
#include "record/hellos.h"

#include <string.h>

/* Of the same process: a pid is not used again by a child of the same parent as soon as that. */
static bool is_successor(const struct process_image *former, const struct process_hello *hello)
{
	return !former->over || former->said_parent_pid == hello->parent_pid;
}

/* Whether this may be what the hello is of, which others have met before it was told. */
static bool is_met(const struct images *images, const struct process_image *image,
		   const struct process_hello *hello)
{
	bool had_ended = image->over && image->row.end_us < images_to_us(images, hello->time_ns);

	return (image->is_seen || image->is_told) && !image->row.tracked && !had_ended &&
	       image->row.executed == !hello->is_forked && hello->time_ns >= image->unheard_ns &&
	       process_image_is_called(image, hello->executable);
}

/* NULL: none. */
static struct process_image *find_met(const struct images *images,
				      const struct process_hello *hello)
{
	struct process_image *image = images_newest(images, hello->pid);

	while (image && !is_met(images, image, hello))
		image = image->older;
	return image;
}

/* Where perf's records are not there. */
static struct process_image *image_from_hello(struct images *images,
					      const struct process_hello *hello)
{
	int64_t time_us = images_to_us(images, hello->time_ns);
	struct process_image *former = images_at(images, hello->pid, INT64_MAX, false);
	struct process_image *parent = images_at(images, hello->parent_pid, time_us, false);
	struct process_image *met =
		images_have_records_of(images, hello->pid) ? NULL : find_met(images, hello);

	if (former && !former->row.executed && former->row.id == 0)
		return former;
	if (met)
		return met;
	if (former && !hello->is_forked && is_successor(former, hello))
		return images_replace(images, former, hello->time_ns);
	return images_add(images, hello->pid, 0, parent ? parent->row.id : PROFILE_NONE,
			  hello->time_ns);
}

/* The last one that was said may be cut.  Those of the program itself are known from us. */
static bool has_arguments(const struct process_image *image, const struct process_hello *hello)
{
	const struct profile_process *row = &image->row;

	if (row->id == 0 && row->arguments)
		return true;
	if (!process_image_has_arguments(image) || row->nr_arguments < hello->nr_arguments)
		return false;
	for (size_t i = 0; row->arguments && i + 1 < hello->nr_arguments; i++)
		if (strcmp(row->arguments[i], hello->arguments[i]) != 0)
			return false;
	return true;
}

/* What it says is true of it; what was found out from outside may be of what it executed next. */
static void image_says_hello(struct images *images, struct process_image *image,
			     const struct process_hello *hello)
{
	image->row.executed |= !hello->is_forked;
	image->said_parent_pid = hello->parent_pid;
	image->said_ns = hello->time_ns;
	if (!images_have_records_of(images, hello->pid) &&
	    image->row.start_us > images_to_us(images, hello->time_ns))
		image->row.start_us = images_to_us(images, hello->time_ns);
	image->row.tracked = true;
	process_image_set_untracked_reason(image, NULL);
	if (hello->executable &&
	    !(image->row.executable && process_image_is_called(image, hello->executable)))
		process_image_set_executable(image, hello->executable);
	if (hello->arguments && !has_arguments(image, hello))
		process_image_set_arguments(image, (const char *const *)hello->arguments,
					    hello->nr_arguments);
	images_publish(images, image);
}

/* The one that said so, by perf's records. */
static struct process_image *image_of_hello(struct images *images,
					    const struct process_hello *hello)
{
	struct process_image *image = images_at(
		images, hello->pid, images_to_us(images, hello->time_ns), !hello->is_forked);

	/* Two hellos of one image cannot be: an exec came between that nobody told of. */
	if (image && (image->row.tracked || (hello->is_forked && image->row.executed)))
		return NULL;
	return image;
}

static uint32_t match_hello(struct images *images, const struct process_hello *hello, bool at_last)
{
	struct process_image *image = NULL;

	if (images_have_records_of(images, hello->pid))
		image = image_of_hello(images, hello);
	if (!image && (!images_have_records_of(images, hello->pid) || at_last))
		image = image_from_hello(images, hello);
	if (!image)
		return PROFILE_NONE;
	image_says_hello(images, image, hello);
	return image->row.id;
}

uint32_t hellos_match(struct images *images, const struct process_hello *hello, bool at_last)
{
	uint32_t id = PROFILE_NONE;

	pthread_mutex_lock(&images->lock);
	if (!images_have_records_of(images, hello->pid) || at_last ||
	    images->passed_ns >= hello->time_ns)
		id = match_hello(images, hello, at_last);
	pthread_mutex_unlock(&images->lock);
	return id;
}

/* --- what may never say one -------------------------------------------------------------------*/

/* The child as the CPU side met it, before its exec or without noticing that. */
static bool is_fresh_fork(const struct process_image *image, int64_t time_us)
{
	return image->is_seen && !image->row.executed && !image->row.tracked &&
	       !(image->over && image->row.end_us < time_us);
}

/* What it executed was met by the CPU side before anything of the process was heard. */
static bool is_known(const struct images *images, int32_t pid, int64_t time_us)
{
	const struct process_image *image = images_newest(images, pid);

	while (image && !(image->is_seen && image->row.executed && !image->row.tracked &&
			  !(image->over && image->row.end_us < time_us)))
		image = image->older;
	return image;
}

/* The newest of the process came after it. */
static bool is_heard(const struct process_image *newest, const struct process_exec *exec,
		     int64_t time_us)
{
	if (!newest)
		return false;
	/* By the clock of hellos: that of execs may be some hundred microseconds off. */
	if (exec->by_pid == exec->pid && newest->said_ns && exec->by_said_ns)
		return newest->said_ns > exec->by_said_ns;
	return newest->row.start_us >= time_us;
}

/* NULL: it has said hello since, or was met since. */
static struct process_image *execute_unheard(struct images *images, const struct process_exec *exec)
{
	int64_t time_us = images_to_us(images, exec->time_ns);
	struct process_image *former = images_at(images, exec->pid, INT64_MAX, false), *by;

	if (former && exec->by_pid != exec->pid && is_fresh_fork(former, time_us)) {
		former->is_seen = false; /* as what was executed */
		return former;
	}
	if (is_heard(former, exec, time_us) || is_known(images, exec->pid, time_us))
		return NULL;
	if (former && exec->by_pid == exec->pid)
		return images_replace(images, former, exec->time_ns);
	by = images_at(images, exec->by_pid, time_us, false);
	return images_add(images, exec->pid, 0, by ? by->row.id : PROFILE_NONE, exec->time_ns);
}

struct process_image *hellos_executed(struct images *images, const struct process_exec *exec)
{
	struct process_image *image = NULL;

	pthread_mutex_lock(&images->lock);
	if (!images_have_records_of(images, exec->pid))
		image = execute_unheard(images, exec);
	if (image)
		image->row.executed = image->is_told = true;
	pthread_mutex_unlock(&images->lock);
	return image;
}
