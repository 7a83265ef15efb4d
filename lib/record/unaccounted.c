/* SPDX-License-Identifier: MIT */
#include "record/unaccounted.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "record/endings.h"

const char unaccounted_not_loaded[] =
	"libcprof-heap.so was not loaded: LD_PRELOAD was taken out of its environment, its loader "
	"ignores it, or it ended before that";

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

static bool parent_is_tracked(const struct images *images, const struct process_image *image)
{
	uint32_t parent = image->row.parent;

	return parent < images->all.nr && images->all.at[parent]->row.tracked;
}

static const char *why_untracked(const struct images *images, const struct process_image *image)
{
	if (image->row.untracked_reason)
		return image->row.untracked_reason;
	if (!image->row.executed && image->row.replaced)
		return "ran only between fork and exec";
	if (!image->row.executed && parent_is_tracked(images, image))
		return "forked, and did not use its heap or was killed before it could be followed";
	if (!image->row.executed && image->row.parent != PROFILE_NONE)
		return "forked by a program whose heap was not accounted";
	return unaccounted_not_loaded;
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
	endings_passed_all(images);
	pthread_mutex_lock(&images->lock);
	for (size_t i = images->all.nr; i--;) {
		struct process_image *image = images->all.at[i];

		process_image_need_arguments(image);
		images_publish(images, image);
		if (!image->row.tracked && heap_on)
			tell_heap(images, image);
		if (!image->over && images->has_records && !images->leave_running)
			tell_unfinished(images, image);
		if (!image->over && !images->has_records)
			images_end_locked(images, image, time_ns);
	}
	pthread_mutex_unlock(&images->lock);
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
