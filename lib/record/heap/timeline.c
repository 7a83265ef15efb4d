/* SPDX-License-Identifier: MIT */
#include "record/heap/timeline.h"

#include "base/alloc.h"

void timeline_release(struct timeline *timeline)
{
	vec_free(&timeline->slices);
}

static struct profile_slice open_slice(const struct timeline *timeline,
				       const struct timeline_now *now)
{
	return (struct profile_slice){
		.time_us = (int64_t)(timeline->start_ns / 1000),
		.duration_us = timeline->width_ns / 1000,
		.live_bytes = now->live_bytes,
		.max_live_bytes = timeline->max_live_bytes,
		.allocations = now->allocations - timeline->before.allocations,
		.allocated_bytes = now->allocated_bytes - timeline->before.allocated_bytes,
	};
}

static void merge(struct profile_slice *slice, const struct profile_slice *next)
{
	slice->live_bytes = next->live_bytes;
	if (next->max_live_bytes > slice->max_live_bytes)
		slice->max_live_bytes = next->max_live_bytes;
	slice->allocations += next->allocations;
	slice->allocated_bytes += next->allocated_bytes;
}

static void double_width(struct timeline *timeline)
{
	struct profile_slice *slices = timeline->slices.at;
	size_t nr = 0;

	timeline->width_ns *= 2;
	for (size_t i = 0; i < timeline->slices.nr; i++) {
		struct profile_slice slice = slices[i];

		slice.duration_us = timeline->width_ns / 1000;
		slice.time_us -= slice.time_us % (int64_t)slice.duration_us;
		if (nr && slices[nr - 1].time_us == slice.time_us)
			merge(&slices[nr - 1], &slice);
		else
			slices[nr++] = slice;
	}
	timeline->slices.nr = nr;
	timeline->merged = true;
}

static void begin(struct timeline *timeline, const struct timeline_now *now, uint64_t time_ns)
{
	timeline->start_ns = time_ns - time_ns % timeline->width_ns;
	if (__builtin_add_overflow(timeline->start_ns, timeline->width_ns, &timeline->end_ns))
		timeline->end_ns = UINT64_MAX;
	timeline->max_live_bytes = now->live_bytes;
	timeline->before = *now;
}

/* After the width has doubled, the last slice and the next may be one. */
static void reopen(struct timeline *timeline)
{
	const struct profile_slice *last;

	if (!timeline->slices.nr)
		return;
	last = vec_last(&timeline->slices);
	if ((uint64_t)last->time_us != timeline->start_ns / 1000)
		return;
	timeline_note(timeline, last->max_live_bytes);
	timeline->before.allocations -= last->allocations;
	timeline->before.allocated_bytes -= last->allocated_bytes;
	timeline->slices.nr--;
}

void timeline_turn(struct timeline *timeline, const struct timeline_now *now, uint64_t time_ns)
{
	if (timeline->end_ns)
		vec_push(&timeline->slices, open_slice(timeline, now));
	else
		timeline->width_ns = TIMELINE_WIDTH_NS;
	while (timeline->slices.nr >= TIMELINE_SLICES)
		double_width(timeline);
	begin(timeline, now, time_ns);
	reopen(timeline);
}

struct timeline_slices timeline_take(struct timeline *timeline, const struct timeline_now *now)
{
	size_t from = timeline->merged ? 0 : timeline->nr_taken, nr = timeline->slices.nr;
	struct timeline_slices taken = { .whole = timeline->merged };

	if (!timeline->end_ns)
		return taken;
	/* The open one stays open: it is taken again with the next. */
	vec_reserve(&timeline->slices, nr + 1);
	timeline->slices.at[nr] = open_slice(timeline, now);
	timeline->nr_taken = nr;
	timeline->merged = false;
	taken.at = timeline->slices.at + from;
	taken.nr = nr + 1 - from;
	return taken;
}
