/* SPDX-License-Identifier: MIT */
#include "record/heap/image.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/distance.h"
#include "base/units.h"
#include "record/heap/site_figures.h"

const char *image_off_reason(const struct image *image)
{
	static const char *const texts[WIRE_NR_REASONS] = {
		[WIRE_REASON_RECORDER_GONE] =
			"the recorder did not keep up: a ring was full for too long",
		[WIRE_REASON_SANITIZER] =
			"built with a sanitizer, which has an allocator of its own",
		[WIRE_REASON_FOREIGN_MALLOC] = "the executable has a malloc of its own, maybe a "
					       "sanitizer's, which cannot be "
					       "interposed",
		[WIRE_REASON_VALGRIND] =
			"run by valgrind, whose functions are in the place of malloc",
		[WIRE_REASON_NO_MALLOC] = "no malloc was found to pass calls on to",
		[WIRE_REASON_NO_MEMORY] = "the shared memory could not be mapped: too little "
					  "address space (ulimit -v)",
		[WIRE_REASON_NO_RINGS] = "more threads at once than can be tracked",
		[WIRE_REASON_SECCOMP] = "it gave up system calls (seccomp) that "
					"libcprof-heap.so needs",
		[WIRE_REASON_NO_FORK_GUARD] = "this kernel cannot wipe memory in forked children",
	};

	uint32_t reason = image->off_reason;

	return reason < WIRE_NR_REASONS && texts[reason] ? texts[reason] : "switched off";
}

static void tell(struct aggregate *aggregate, enum profile_quality_kind kind, const char *what,
		 const struct image *image, uint64_t count)
{
	if (!count)
		return;

	char *detail = xasprintf("heap of %s: %s",
				 image->executable ? image->executable : "a program", what);

	aggregate_quality(aggregate, kind, detail, count);
	free(detail);
}

static void tell_truncated(const struct image *image, const struct frames *frames,
			   struct aggregate *aggregate)
{
	struct profile_heap_site figures;

	for (size_t i = 0; i < image->nr_resolved; i++) {
		const struct image_site *site = &image->sites.at[i];

		if (!site->truncated)
			continue;
		heap_model_site_figures(image->model, site->model, &figures);
		if (image->mode == WIRE_MODE_SAMPLE)
			site_figures_round(&figures);

		char *detail = xasprintf("%s (heap)", frames_truncated(frames, site->truncated));

		aggregate_quality(aggregate, PROFILE_TRUNCATED, detail,
				  figures.allocations + figures.reallocations);
		free(detail);
	}
}

/*
 * An event is published before it is counted, so a killed thread may be one off.  A program that
 * runs on goes on counting after the last event that was collected.
 */
static uint64_t disagreement(const struct image *image, const struct profile_heap *figures)
{
	if (!image->end_ns || figures->lost_events)
		return 0;

	uint64_t calls =
		distance_u64(figures->allocations + figures->reallocations,
			     figures->counted_allocations + figures->counted_reallocations);
	uint64_t bytes = distance_u64(figures->allocated_bytes, figures->counted_bytes);

	return calls ? calls : bytes ? 1 : 0;
}

/* What was accounted up to then is in the profile. */
static void tell_off(const struct image *image, uint64_t lost, struct aggregate *aggregate)
{
	char *what = xasprintf("accounted up to %s only: %s",
			       units_time((int64_t)image->off_ns).text, image_off_reason(image));
	char *counted = xasprintf("operations %s: %s",
				  image->is_cut ? "that nobody counted any more, one at least"
						: "counted only",
				  image_off_reason(image));

	tell(aggregate, PROFILE_BOUNDED, what, image, 1);
	tell(aggregate, PROFILE_LOST, counted, image, lost);
	free(what);
	free(counted);
}

void image_tell_quality(const struct image *image, const struct frames *frames,
			struct aggregate *aggregate)
{
	struct profile_heap figures;

	if (!image->was_tracked)
		return;
	image_figures(image, &figures);
	tell_truncated(image, frames, aggregate);
	if (image->off_reason)
		tell_off(image, figures.lost_events, aggregate);
	else
		tell(aggregate, PROFILE_LOST, "events lost", image, figures.lost_events);
	tell(aggregate, PROFILE_LOST, "calls before the first event", image, image->missed);
	tell(aggregate, PROFILE_BOUNDED, "events came late: the peak is not exact", image,
	     figures.late_events);
	tell(aggregate, PROFILE_BOUNDED,
	     "frees of blocks that were never seen allocated, as of a library "
	     "that calls another malloc (RTLD_DEEPBIND)",
	     image, figures.unknown_frees);
	tell(aggregate, PROFILE_BOUNDED,
	     "blocks allocated where one was: frees were not seen, as of a library "
	     "that calls another malloc (RTLD_DEEPBIND)",
	     image, heap_model_duplicates(image->model, image->id));
	tell(aggregate, PROFILE_BOUNDED, "calls that the shim counted otherwise", image,
	     disagreement(image, &figures));
}
