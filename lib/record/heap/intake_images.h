/* SPDX-License-Identifier: MIT */
/*
 * intake_images - which images there are to take events of: from the segment that a program claims
 * to the end of its process or to its next exec.  Internal to the intake.
 *
 *	intake_find_new(&intake);		// segments and rings that appeared
 *	intake_find_dead(&intake, sequence);	// processes that ended: no events from there on
 *	while ((dead = intake_first_dead(&intake, below)))
 *		intake_end_image(&intake, dead);
 */
#ifndef RECORD_HEAP_INTAKE_IMAGES_H
#define RECORD_HEAP_INTAKE_IMAGES_H

#include <stdint.h>

#include "record/heap/intake.h"

static inline uint32_t intake_model_id(const struct segment *segment)
{
	return ((const struct image *)segment->image)->id;
}

void intake_find_new(struct intake *intake);
/* before: the next number, read before this looks. */
void intake_find_dead(struct intake *intake, uint64_t before);

/* The dead one that ends first; NULL if none does up to here. */
struct segment *intake_first_dead(const struct intake *intake, uint64_t until);
/* Its stacks may still be needed: it is among those that are over. */
void intake_end_image(struct intake *intake, struct segment *segment);

/* Applies what was taken so far. */
void intake_flush(struct intake *intake);
/* An image is over: its page faults have to find its blocks now. */
void intake_finish_faults(struct intake *intake, const struct segment *segment);

#endif
