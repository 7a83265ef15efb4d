/* SPDX-License-Identifier: MIT */
#include "record/endings.h"

/* The newest image, for better or worse: what was told last is right. */
static void end_as(struct images *images, const struct ending *ending)
{
	struct process_image *image =
		images_at(images, ending->pid, images_to_us(images, ending->time_ns), false);

	if (!image)
		return;
	process_image_set_wait_status(image, ending->wait_status);
	images_publish(images, image);
	/* The others' heap says when they ended. */
	if (!image->row.tracked && !images_have_records_of(images, ending->pid))
		images_end_locked(images, image, ending->time_ns);
}

/* Those whose time perf's records have reached. */
static void apply_endings(struct images *images, uint64_t until_ns)
{
	size_t kept = 0;

	vec_each(&images->endings, ending)
	{
		if (ending->time_ns <= until_ns || !images_have_records_of(images, ending->pid))
			end_as(images, ending);
		else
			images->endings.at[kept++] = *ending;
	}
	images->endings.nr = kept;
}

void endings_passed(struct images *images, uint64_t time_ns)
{
	pthread_mutex_lock(&images->lock);
	images->passed_ns = time_ns;
	if (images->endings.nr)
		apply_endings(images, time_ns);
	pthread_mutex_unlock(&images->lock);
}

void endings_image(struct images *images, uint32_t id, uint64_t time_ns)
{
	struct process_image *image;

	pthread_mutex_lock(&images->lock);
	image = images_by_id(images, id);
	if (image && !images_have_records_of(images, image->row.pid))
		images_end_locked(images, image, time_ns);
	pthread_mutex_unlock(&images->lock);
}

void endings_tell(struct images *images, int32_t pid, uint64_t time_ns, int wait_status)
{
	pthread_mutex_lock(&images->lock);
	vec_push(&images->endings,
		 (struct ending){ .pid = pid, .time_ns = time_ns, .wait_status = wait_status });
	apply_endings(images, images->has_records ? images->passed_ns : UINT64_MAX);
	pthread_mutex_unlock(&images->lock);
}

void endings_program(struct images *images, uint64_t time_ns, int wait_status)
{
	struct process_image *image =
		images_at(images, images->all.at[0]->row.pid, INT64_MAX, false);

	process_image_set_wait_status(image, wait_status);
	image->over = false;
	images_end_locked(images, image, time_ns);
}

void endings_passed_all(struct images *images)
{
	pthread_mutex_lock(&images->lock);
	apply_endings(images, UINT64_MAX);
	pthread_mutex_unlock(&images->lock);
}
