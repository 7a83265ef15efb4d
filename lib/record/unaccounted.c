/* SPDX-License-Identifier: MIT */
#include "record/unaccounted.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "object/allocator.h"
#include "record/endings.h"
#include "record/obstacle.h"
#include "record/target/launch.h"

const char unaccounted_not_loaded[] =
	"libcprof-heap.so was not loaded, or could not open what it shares with cprof: LD_PRELOAD "
	"was taken out of its environment, its loader ignores it, it ended before that, or it has "
	"other rights, no descriptors left, or filters of system calls (seccomp) from before";

void unaccounted_heap(struct images *images, uint32_t id, const char *reason)
{
	struct process_image *image;

	pthread_mutex_lock(&images->lock);
	image = images_by_id(images, id);
	if (image) {
		image->row.tracked = false;
		process_image_set_untracked_reason(image, reason);
		images_publish(images, image);
	}
	pthread_mutex_unlock(&images->lock);
}

/* Of programs that tell whatever comes to their minds. */
#define FILTERED_MAX 65536

void unaccounted_filtered(struct images *images, int32_t pid, uint64_t time_ns)
{
	pthread_mutex_lock(&images->lock);
	if (images->filtered.nr < FILTERED_MAX)
		vec_push(&images->filtered,
			 (struct filtered){ pid, images_to_us(images, time_ns) });
	pthread_mutex_unlock(&images->lock);
}

static bool was_filtered(const struct images *images, const struct process_image *image)
{
	vec_each(&images->filtered,
		 filtered) if (filtered->pid == image->row.pid &&
			       filtered->since_us <= image->row.start_us) return true;
	return false;
}

static bool parent_is_tracked(const struct images *images, const struct process_image *image)
{
	uint32_t parent = image->row.parent;

	return parent < images->all.nr && images->all.at[parent]->row.tracked;
}

/* Of the program itself, if it is what was asked for: nothing may be seen of one that is set-uid. */
static const char *obstacle_in_file(const struct process_image *image)
{
	const char *program =
		image->row.id == 0 && image->row.nr_arguments ? image->row.arguments[0] : NULL;
	char *found = !image->row.executable && program ? launch_find_elf(program) : NULL;
	const char *path = image->row.executable ?: found;
	const char *reason = path ? obstacle_find_in(path) : NULL;

	free(found);
	return reason;
}

static const char *why_untracked(const struct images *images, const struct process_image *image)
{
	const char *reason;

	if (image->row.untracked_reason &&
	    strcmp(image->row.untracked_reason, unaccounted_not_loaded) != 0)
		return image->row.untracked_reason;
	if (!image->row.executed && image->row.replaced)
		return "ran only between fork and exec";
	if (!image->row.executed && parent_is_tracked(images, image))
		return "forked, and used no heap of its own (what it did in its parent's memory is "
		       "counted there), or could not be followed: it was killed before, has other "
		       "rights or no descriptors left";
	if (!image->row.executed && image->row.parent != PROFILE_NONE)
		return "forked by a program whose heap was not accounted";
	reason = obstacle_in_file(image);
	if (reason)
		return reason;
	return was_filtered(images, image) ? obstacle_filtered : unaccounted_not_loaded;
}

static void tell_heap(struct images *images, struct process_image *image)
{
	const char *reason = why_untracked(images, image);
	char *detail = xasprintf("%s: %s", process_image_name(image), reason);

	if (image->row.executed || !image->row.replaced)
		aggregate_quality(images->aggregate, PROFILE_UNTRACKED, detail, 1);
	process_image_set_untracked_reason(image, reason);
	images_publish(images, image);
	free(detail);
}

/* --- allocators that malloc does not know of --------------------------------------------------*/

struct seen_file {
	const char *path;
	bool has_allocator;
	struct allocator allocator;
};

struct seen_files {
	struct seen_file *at;
	size_t nr, room;
};

/* Each file once: a build executes the same few thousands of times. */
static const struct allocator *allocator_of(struct seen_files *files, const char *path,
					    bool (*find)(struct allocator *allocator, int fd))
{
	struct seen_file *file;
	int fd;

	vec_each(files, seen) if (!strcmp(seen->path, path)) return seen->has_allocator
		? &seen->allocator
		: NULL;
	file = vec_add(files);
	file->path = path;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	file->has_allocator = fd >= 0 && find(&file->allocator, fd);
	if (fd >= 0)
		close(fd);
	return file->has_allocator ? &file->allocator : NULL;
}

/* Whether or not others of its blocks are malloc's. */
static void tell_allocator(struct images *images, const char *name,
			   const struct allocator *allocator)
{
	char *detail =
		xasprintf("%s: has %s in it (%s), whose blocks are not seen: link it as a shared "
			  "library in the place of malloc, or build with the malloc of libc",
			  name, allocator->name, allocator->symbol);

	aggregate_quality(images->aggregate, PROFILE_UNTRACKED, detail, 1);
	free(detail);
}

static void tell_allocator_of_image(struct images *images, struct seen_files *files,
				    const struct process_image *image)
{
	const struct allocator *allocator =
		image->row.executable && (image->row.executed || image->row.id == 0)
			? allocator_of(files, image->row.executable, allocator_find)
			: NULL;

	if (allocator)
		tell_allocator(images, process_image_name(image), allocator);
}

static bool was_seen(const struct seen_files *files, const char *path)
{
	vec_each(files, seen) if (!strcmp(seen->path, path)) return true;
	return false;
}

/* Of the libraries, those that code was seen in. */
static void tell_allocators_of_libraries(struct images *images, struct seen_files *files)
{
	uint32_t nr = aggregate_nr_modules(images->aggregate);

	for (uint32_t id = 0; id < nr; id++) {
		struct profile_module module = aggregate_module_at(images->aggregate, id);
		const char *path = module.open_path ?: module.path;
		const struct allocator *allocator;

		if (module.kind != PROFILE_MODULE_FILE || !path || was_seen(files, path))
			continue;
		allocator = allocator_of(files, path, allocator_find_in_library);
		if (allocator)
			tell_allocator(images, module.path, allocator);
	}
}

static void tell_unfinished(struct images *images, const struct process_image *image)
{
	bool gone = kill(image->row.pid, 0) < 0 && errno == ESRCH;
	char *detail = xasprintf("%s: %s", process_image_name(image),
				 gone ? "was lost sight of, as when it executes a set-uid program"
				      : "still ran when the recording ended");

	aggregate_quality(images->aggregate, PROFILE_INTERRUPTED, detail, 1);
	free(detail);
}

void unaccounted_finish(struct images *images, uint64_t time_ns, bool heap_on)
{
	struct seen_files files = { 0 };

	endings_passed_all(images);
	pthread_mutex_lock(&images->lock);
	for (size_t i = images->all.nr; i--;) {
		struct process_image *image = images->all.at[i];
		bool has_records;

		if (process_image_need_arguments(image))
			images_publish(images, image);
		if (!image->row.tracked && heap_on)
			tell_heap(images, image);
		if (heap_on)
			tell_allocator_of_image(images, &files, image);
		has_records = images_have_records_of(images, image->row.pid);
		if (!image->over && has_records && !images->leave_running)
			tell_unfinished(images, image);
		if (!image->over && !has_records)
			images_end_locked(images, image, time_ns);
	}
	if (heap_on)
		tell_allocators_of_libraries(images, &files);
	pthread_mutex_unlock(&images->lock);
	vec_free(&files);
}

bool unaccounted_any_tracked(const struct images *images)
{
	vec_each(&images->all, image) if ((*image)->row.tracked) return true;
	return false;
}

const char *unaccounted_reason(const struct images *images)
{
	return images->all.at[0]->row.untracked_reason;
}
