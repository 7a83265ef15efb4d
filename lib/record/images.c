/* SPDX-License-Identifier: MIT */
#include "record/images.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "record/unaccounted.h"

/* From the end of an image on: longer than hellos and records are late. */
#define KEEP_US INT64_C(10000000)

struct images *images_new(struct aggregate *aggregate, int64_t start_ns, bool has_records)
{
	struct images *images = xcalloc(1, sizeof(*images));

	pthread_mutex_init(&images->lock, NULL);
	images->aggregate = aggregate;
	images->start_ns = start_ns;
	images->has_records = has_records;
	return images;
}

void images_free(struct images *images)
{
	if (!images)
		return;
	vec_each(&images->all, image) process_image_free(*image);
	vec_free(&images->all);
	vec_free(&images->running);
	vec_free(&images->over);
	vec_free(&images->endings);
	vec_free(&images->filtered);
	map_release(&images->newest_of);
	intern_release(&images->texts);
	pthread_mutex_destroy(&images->lock);
	free(images);
}

void images_hear_by(struct images *images, void (*hear)(void *context), void *context)
{
	images->hear = hear;
	images->hear_context = context;
}

void images_of_program_only(struct images *images)
{
	images->of_program_only = true;
}

/* --- with the lock held -----------------------------------------------------------------------*/

bool images_have_records_of(const struct images *images, int32_t pid)
{
	return images->has_records &&
	       (!images->of_program_only || pid == images->all.at[0]->row.pid);
}

int64_t images_to_us(const struct images *images, uint64_t time_ns)
{
	return ((int64_t)time_ns - images->start_ns) / 1000;
}

/* Of those that were over long before: of many at once. */
static void drop_arguments(struct images *images, int64_t now_us)
{
	size_t nr = 0;

	if (!images->over.nr || images->over.at[0]->row.end_us + KEEP_US + KEEP_US / 8 > now_us)
		return;
	while (nr < images->over.nr && images->over.at[nr]->row.end_us + KEEP_US <= now_us)
		process_image_drop_arguments(images->over.at[nr++]);
	vec_remove(&images->over, 0, nr);
}

/* The program itself keeps its own: they are known from us. */
static void put_over(struct images *images, struct process_image *image)
{
	image->is_put = true;
	if (image->row.id != 0)
		vec_push(&images->over, image);
	drop_arguments(images, image->row.end_us);
}

void images_publish(struct images *images, struct process_image *image)
{
	aggregate_process(images->aggregate, &image->row);
	if (image->over && !image->is_put)
		put_over(images, image);
}

struct process_image *images_newest(const struct images *images, int32_t pid)
{
	const uint64_t *newest = map_find(&images->newest_of, (uint64_t)pid);

	return newest ? (struct process_image *)(uintptr_t)*newest : NULL;
}

struct process_image *images_add(struct images *images, int32_t pid, uint32_t number,
				 uint32_t parent, uint64_t time_ns)
{
	struct process_image *image = process_image_new(&images->texts, pid, number, parent,
							images_to_us(images, time_ns));

	image->row.id = aggregate_process(images->aggregate, &image->row);
	image->older = images_newest(images, pid);
	map_set(&images->newest_of, (uint64_t)pid, (uintptr_t)image);
	vec_push(&images->all, image);
	vec_push(&images->running, image);
	return image;
}

void images_end_locked(struct images *images, struct process_image *image, uint64_t time_ns)
{
	if (image->over)
		return;
	image->over = true;
	image->row.end_us = images_to_us(images, time_ns);
	images_publish(images, image);
}

struct process_image *images_replace(struct images *images, struct process_image *former,
				     uint64_t time_ns)
{
	/* Its end may have been noticed later than it was. */
	if (former->row.end_us == PROFILE_NO_TIME ||
	    former->row.end_us > images_to_us(images, time_ns))
		former->row.end_us = images_to_us(images, time_ns);
	/* A look may have met it just after. */
	if (former->row.start_us > former->row.end_us)
		former->row.start_us = former->row.end_us;
	former->over = true;
	former->row.replaced = true;
	images_publish(images, former);
	return images_add(images, former->row.pid, former->row.image + 1, former->row.parent,
			  time_ns);
}

static void execute(struct images *images, struct process_image *image,
		    const struct image_facts *facts)
{
	image->row.executed = true;
	if (facts->executable)
		process_image_set_executable(image, facts->executable);
	/* Of the program itself we know the arguments as they were given. */
	if (facts->arguments && !process_image_has_arguments(image))
		process_image_set_arguments(image, (const char *const *)facts->arguments,
					    facts->nr_arguments);
	if (facts->untracked_reason)
		process_image_set_untracked_reason(image, facts->untracked_reason);
	images_publish(images, image);
}

struct process_image *images_at(struct images *images, int32_t pid, int64_t time_us, bool executed)
{
	struct process_image *image = images_newest(images, pid);

	while (image && !(image->row.start_us <= time_us && (image->row.executed || !executed)))
		image = image->older;
	return image;
}

struct process_image *images_by_id(struct images *images, uint32_t id)
{
	return id < images->all.nr ? images->all.at[id] : NULL;
}

/* Without perf's records its hello, or who executed it, may have started it already: what the CPU side finds
 * is that.  NULL: none has. */
static struct process_image *find_unseen(struct images *images, int32_t pid)
{
	struct process_image *newest = NULL;

	if (!images->has_records)
		newest = images_at(images, pid, INT64_MAX, false);
	return newest && !newest->over && !newest->is_seen ? newest : NULL;
}

/* NULL: none that started later is known. */
static struct process_image *first_after(const struct images *images, int32_t pid, int64_t time_us)
{
	struct process_image *first = NULL, *image = images_newest(images, pid);

	for (; image; image = image->older)
		if (image->row.start_us > time_us)
			first = image;
	return first;
}

/* That of its own hello, or of who executed it. */
static bool is_of_exec(const struct process_image *image, const struct image_facts *facts,
		       bool tracked, int64_t time_us)
{
	return image && !image->is_seen && image->row.executed && image->row.tracked == tracked &&
	       !(image->over && image->row.end_us < time_us) &&
	       process_image_is_called(image, facts->executable);
}

/* What ran at that time, at which it may have been about to say hello. */
static struct process_image *find_unseen_exec(struct images *images, int32_t pid,
					      const struct image_facts *facts, int64_t time_us)
{
	struct process_image *image = images_at(images, pid, time_us, true), *next = NULL;

	if (facts->unheard_ns)
		next = first_after(images, pid, images_to_us(images, facts->unheard_ns));
	if (is_of_exec(next, facts, true, time_us))
		return next;
	return is_of_exec(image, facts, !facts->unheard_ns, time_us) ? image : NULL;
}

/* Without perf's records, which would tell what comes after what. */
static struct process_image *exec_by_look(struct images *images, struct process_image *former,
					  const struct image_facts *facts, uint64_t time_ns)
{
	int64_t time_us = images_to_us(images, time_ns);
	int32_t pid = former->row.pid;
	struct process_image *image = find_unseen_exec(images, pid, facts, time_us);

	if (image)
		return image;
	/* It is over by now, and nobody else told of it. */
	if (first_after(images, pid, time_us))
		return NULL;
	return images_replace(images, images_at(images, pid, INT64_MAX, false), time_ns);
}

/* --- any thread -------------------------------------------------------------------------------*/

struct process_image *images_start(struct images *images, int32_t pid, char *const *arguments,
				   uint64_t time_ns)
{
	struct process_image *image;
	size_t nr = 0;

	while (arguments[nr])
		nr++;
	pthread_mutex_lock(&images->lock);
	image = images_add(images, pid, 0, PROFILE_NONE, time_ns);
	process_image_set_arguments(image, (const char *const *)arguments, nr);
	images_publish(images, image);
	pthread_mutex_unlock(&images->lock);
	return image;
}

struct process_image *images_join(struct images *images, int32_t pid,
				  const struct image_facts *facts, uint64_t time_ns)
{
	struct process_image *image;

	pthread_mutex_lock(&images->lock);
	image = images_add(images, pid, 0, PROFILE_NONE, time_ns);
	image->is_seen = true;
	if (facts)
		execute(images, image, facts);
	pthread_mutex_unlock(&images->lock);
	return image;
}

static struct process_image *fork_image(struct images *images, const struct process_image *parent,
					int32_t pid, uint64_t time_ns)
{
	struct process_image *image = images_add(images, pid, 0, parent->row.id, time_ns);

	if (parent->row.executable)
		process_image_set_executable(image, parent->row.executable);
	if (parent->row.arguments)
		process_image_set_arguments(image, parent->row.arguments, parent->row.nr_arguments);
	images_publish(images, image);
	return image;
}

struct process_image *images_fork(struct images *images, const struct process_image *parent,
				  int32_t pid, uint64_t time_ns)
{
	struct process_image *image;

	pthread_mutex_lock(&images->lock);
	image = find_unseen(images, pid);
	if (!image)
		image = fork_image(images, parent, pid, time_ns);
	image->is_seen = !image->row.executed;
	pthread_mutex_unlock(&images->lock);
	return image;
}

static void be_executed(struct images *images, struct process_image *image, const char *comm,
			const struct image_facts *facts)
{
	image->is_seen = true;
	image->unheard_ns = facts->unheard_ns;
	snprintf(image->comm, sizeof(image->comm), "%s", comm);
	execute(images, image, facts);
}

struct process_image *images_exec(struct images *images, struct process_image *former,
				  const char *comm, const struct image_facts *facts,
				  uint64_t time_ns)
{
	struct process_image *image;

	if (images->hear)
		images->hear(images->hear_context);
	pthread_mutex_lock(&images->lock);
	/* What was started for the purpose of executing this is this. */
	if (!former->row.executed && former->row.id == 0)
		image = former;
	else if (images->has_records)
		image = images_replace(images, former, time_ns);
	else
		image = exec_by_look(images, former, facts, time_ns);
	if (image)
		be_executed(images, image, comm, facts);
	pthread_mutex_unlock(&images->lock);
	return image ?: former;
}

void images_learn(struct images *images, struct process_image *image,
		  const struct image_facts *facts)
{
	pthread_mutex_lock(&images->lock);
	if (image->row.executed)
		execute(images, image, facts);
	pthread_mutex_unlock(&images->lock);
}

void images_doubt(struct images *images, struct process_image *image, const char *first_code)
{
	pthread_mutex_lock(&images->lock);
	if (!image->row.tracked) {
		process_image_set_executable(image, first_code);
		process_image_set_untracked_reason(image, NULL);
		if (image->row.id != 0)
			process_image_set_arguments(image, NULL, 0);
		images_publish(images, image);
	}
	pthread_mutex_unlock(&images->lock);
}

bool images_knows_executable(struct images *images, const struct process_image *image)
{
	bool known;

	pthread_mutex_lock(&images->lock);
	known = image->row.executable;
	pthread_mutex_unlock(&images->lock);
	return known;
}

void images_end(struct images *images, struct process_image *image, uint64_t time_ns)
{
	pthread_mutex_lock(&images->lock);
	images_end_locked(images, image, time_ns);
	pthread_mutex_unlock(&images->lock);
}

/* Its hello may have come already, and takes the reason away when it comes. */
void images_executed(struct images *images, const struct image_facts *facts)
{
	struct process_image *image;

	pthread_mutex_lock(&images->lock);
	image = images->all.at[0];
	if (!image->row.executed) {
		process_image_set_executable(image, facts->executable);
		process_image_set_untracked_reason(image, facts->untracked_reason
								  ? facts->untracked_reason
								  : unaccounted_not_loaded);
		images_publish(images, image);
	}
	pthread_mutex_unlock(&images->lock);
}

void images_leave_running(struct images *images)
{
	images->leave_running = true;
}

void images_each_running(struct images *images, void (*use)(void *context, int32_t pid),
			 void *context)
{
	size_t kept = 0;

	pthread_mutex_lock(&images->lock);
	vec_each(&images->running, image)
	{
		if ((*image)->over)
			continue;
		use(context, (*image)->row.pid);
		images->running.at[kept++] = *image;
	}
	images->running.nr = kept;
	pthread_mutex_unlock(&images->lock);
}

bool images_is_over(struct images *images, uint32_t id)
{
	const struct process_image *image;
	bool is_over;

	pthread_mutex_lock(&images->lock);
	image = images_by_id(images, id);
	is_over = image && image->over;
	pthread_mutex_unlock(&images->lock);
	return is_over;
}

uint32_t images_id_at(struct images *images, int32_t pid, uint64_t time_ns, bool at_last)
{
	const struct process_image *image = NULL;
	uint32_t id = PROFILE_NONE;

	pthread_mutex_lock(&images->lock);
	if (!images_have_records_of(images, pid) || at_last || images->passed_ns >= time_ns)
		image = images_at(images, pid, images_to_us(images, time_ns), false);
	if (image)
		id = image->row.id;
	pthread_mutex_unlock(&images->lock);
	return id;
}
