/* SPDX-License-Identifier: MIT */
#include "record/heap/intake_images.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static uint64_t last_published(const struct segment *segment)
{
	uint64_t last = 0;

	for (size_t i = 0; i < segment->rings.nr; i++) {
		uint64_t sequence = ring_last_published(segment->rings.at[i]);

		last = sequence > last ? sequence : last;
	}
	return last;
}

static void find_rings(struct intake *intake, struct segment *segment)
{
	struct image *image = segment->image;
	size_t nr = segment->rings.nr;

	segment_find_rings(segment);
	for (; nr < segment->rings.nr; nr++)
		segment->rings.at[nr]->lane = heap_model_lane(intake->model, image->id);
	frames_find_modules(intake->frames, &image->frames, segment);
	execs_read(&intake->execs, segment, &intake->ticks);
}

/* No more events come from it. */
static void mark_dead(struct intake *intake, struct segment *segment, uint64_t end)
{
	segment->dead = true;
	find_rings(intake, segment);

	uint64_t last = last_published(segment);

	segment->end = end > last ? end : last + 1;
	if (segment->end < segment->start_sequence)
		segment->end = segment->start_sequence;
}

/* Where nobody told of the fork, what is live now must do. */
static struct heritage *heritage_of_parent(struct intake *intake, int32_t pid)
{
	vec_each(&intake->segments, segment)
	{
		if ((*segment)->pid != pid || (*segment)->dead)
			continue;
		intake_flush(intake);
		return heap_model_fork(intake->model, intake_model_id(*segment));
	}
	return NULL;
}

static void inherit(struct intake *intake, const struct segment *segment)
{
	uint64_t sequence = segment->fork_sequence;
	struct heritage *heritage = sequence ? forks_take(&intake->forks, sequence)
					     : heritage_of_parent(intake, segment->shared->ppid);

	heap_model_inherit(intake->model, intake_model_id(segment), heritage);
}

/* A process has one image at a time: of two, the older is over. */
static void replace_older(struct intake *intake, struct segment *segment)
{
	vec_each(&intake->segments, at)
	{
		struct segment *other = *at;

		if (other->pid != segment->pid || other->dead)
			continue;
		if (other->start_sequence > segment->start_sequence)
			mark_dead(intake, segment, 0);
		else
			mark_dead(intake, other, 0);
	}
}

static void enter_image(struct intake *intake, struct image *image)
{
	size_t i = intake->images.nr;

	vec_push(&intake->images, image);
	for (; i && intake->images.at[i - 1]->start_sequence > image->start_sequence; i--)
		intake->images.at[i] = intake->images.at[i - 1];
	intake->images.at[i] = image;
}

static void begin_image(struct intake *intake, struct segment *segment)
{
	struct image *image = image_new(intake->model, segment);

	image->mode = intake->mode;
	image->sample_bytes = intake->sample_bytes;
	segment->image = image;
	if (segment->is_forked)
		inherit(intake, segment);
	replace_older(intake, segment);
	enter_image(intake, image);
	vec_push(&intake->segments, segment);
	intake->segment_at[segment->index] = segment;
}

static int by_start(const void *a, const void *b)
{
	const struct segment *x = *(struct segment *const *)a, *y = *(struct segment *const *)b;

	return x->start_sequence < y->start_sequence ? -1 : x->start_sequence > y->start_sequence;
}

static void find_segments(struct intake *intake)
{
	const struct wire_control *control = intake->channel->control;
	uint32_t used = atomic_load(&control->segments_used);

	intake->fresh.nr = 0;
	for (uint32_t i = 0; i < used && i < WIRE_SEGMENTS; i++) {
		if (intake->segment_at[i] || !atomic_load(&control->owner[i]))
			continue;

		struct segment *segment = segment_open(intake->channel, i);

		if (segment)
			vec_push(&intake->fresh, segment);
	}
	if (intake->fresh.nr > 1)
		qsort(intake->fresh.at, intake->fresh.nr, sizeof(intake->fresh.at[0]), by_start);
	vec_each(&intake->fresh, segment) begin_image(intake, *segment);
}

void intake_find_new(struct intake *intake)
{
	find_segments(intake);
	vec_each(&intake->segments, segment) find_rings(intake, *segment);
}

/* before: a number from before this look. */
void intake_find_dead(struct intake *intake, uint64_t before)
{
	uint64_t now_ns = clock_now_ns();

	intake->pidfds.nr = 0;
	vec_each(&intake->segments, segment) vec_push(
		&intake->pidfds, (struct pollfd){ .fd = (*segment)->pidfd, .events = POLLIN });
	poll(intake->pidfds.at, intake->pidfds.nr, 0);
	for (size_t i = 0; i < intake->segments.nr; i++) {
		struct segment *segment = intake->segments.at[i];
		bool gone = segment->pidfd < 0 ? !segment_process_exists(segment)
					       : intake->pidfds.at[i].revents;

		if (!gone) {
			segment->alive_sequence = before;
			segment->alive_ns = now_ns;
		} else if (!segment->dead)
			mark_dead(intake, segment, segment->alive_sequence);
	}
}

static void remove_segment(struct intake *intake, const struct segment *segment)
{
	size_t i = 0;

	while (intake->segments.at[i] != segment)
		i++;
	intake->segments.at[i] = intake->segments.at[--intake->segments.nr];
}

void intake_end_image(struct intake *intake, struct segment *segment)
{
	struct image *image = segment->image;
	uint64_t alive_ns =
		segment->alive_ns > intake->start_ns ? segment->alive_ns - intake->start_ns : 0;

	intake_flush(intake);
	intake_finish_faults(intake, segment);
	image_note_off(image, &intake->ticks, intake->start_ns);
	image_end(image, alive_ns > intake->reached_ns ? alive_ns : intake->reached_ns);
	image->end_ns = clock_now_ns();
	remove_segment(intake, segment);
	vec_push(&intake->over, segment);
}

struct segment *intake_first_dead(const struct intake *intake, uint64_t until)
{
	struct segment *first = NULL;

	for (size_t i = 0; i < intake->segments.nr; i++) {
		struct segment *segment = intake->segments.at[i];

		if (segment->dead && segment->end <= until && (!first || segment->end < first->end))
			first = segment;
	}
	return first;
}

static void find_execs(struct intake *intake)
{
	vec_each(&intake->segments, segment) if (!(*segment)->dead && (*segment)->executing &&
						 !channel_is_mapped_by((*segment)->pid, true))
		mark_dead(intake, *segment, 0);
}

/* Who claimed them was killed before it had filled them in. */
static void free_orphaned_claims(struct intake *intake)
{
	struct wire_control *control = intake->channel->control;
	uint32_t used = atomic_load(&control->segments_used);

	for (uint32_t i = 0; i < used && i < WIRE_SEGMENTS; i++) {
		int32_t owner = atomic_load(&control->owner[i]);

		if (owner > 0 && !intake->segment_at[i] && kill(owner, 0) < 0 && errno == ESRCH &&
		    !channel_has_segment(intake->channel, i))
			channel_recycle(intake->channel, i);
	}
}

static bool has_said_hello(const struct intake *intake, const struct heap_exec *exec)
{
	vec_each(&intake->segments, segment)
	{
		const struct image *image = (*segment)->image;

		if ((*segment)->pid == exec->pid && image->hello.time_ns >= exec->time_ns)
			return true;
	}
	return false;
}

bool intake_exec_may_fail(const struct intake *intake, const struct heap_exec *exec)
{
	return !has_said_hello(intake, exec) && channel_is_mapped_by(exec->pid, false);
}

void intake_tidy(struct intake *intake)
{
	find_execs(intake);
	free_orphaned_claims(intake);
	forks_forget(&intake->forks, clock_now_ns());
}
