/* SPDX-License-Identifier: MIT */
/*
 * frames - the stacks that the shim interned, as stacks of the profile.
 *
 *	frames_find_modules(frames, &image, segment);	// soon after they appear
 *	stack = frames_stack(frames, &image, segment, node, &truncated);
 *	if (truncated)
 *		count(frames_truncated(frames, truncated));
 *
 * A module is the same one as on the CPU side: named as in /proc/PID/maps, opened and checked
 * by object/module.h.  Where the process is gone already, the dynamic linker's path must do.
 * Stacks are put together when somebody asks, each node once.
 */
#ifndef RECORD_HEAP_FRAMES_H
#define RECORD_HEAP_FRAMES_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "object/module.h"
#include "record/aggregate/aggregate.h"
#include "record/heap/segment.h"

/* What an image's nodes and modules have become. */
struct frames_module {
	bool known;
	uint32_t id; /* the profile's */
	uint64_t bias;
};

struct frames_image {
	VEC(struct frames_module) modules; /* by the segment's id */
	struct map stacks;		   /* node to profile's stack | truncated << 32 */
};

struct frames;

struct frames *frames_new(struct aggregate *aggregate);
void frames_free(struct frames *frames);
void frames_image_release(struct frames_image *image);

void frames_find_modules(struct frames *frames, struct frames_image *image,
			 const struct segment *segment);

/* Never PROFILE_NONE.  *truncated: 0, or which reason the walk had to end early. */
uint32_t frames_stack(struct frames *frames, struct frames_image *image,
		      const struct segment *segment, uint32_t node, uint32_t *truncated);
/* "libfoo.so.1: no CFI". */
const char *frames_truncated(const struct frames *frames, uint32_t truncated);

/* The module with this id in the profile; NULL if it is none of the heap side's. */
const struct module *frames_module(const struct frames *frames, uint32_t profile_module);

#endif
