/* SPDX-License-Identifier: MIT */
/*
 * fault_queue - page faults that wait for the heap's events to come as far as they are.
 *
 *	fault_queue_fill(&queue, take, context);		// whatever is there by now
 *	while ((fault = fault_queue_next(&queue, until_ns)))	// the oldest, until then
 *		if (!find_its_block(fault))
 *			fault_queue_again(&queue, fault);	// once more, FAULT_AGAIN_NS later
 *	fault_queue_release(&queue);
 *
 * An allocator touches memory before it gives it out, and the clocks of the two sides agree to
 * microseconds only.  So a fault at an address that is nobody's yet is looked up again.
 */
#ifndef RECORD_HEAP_FAULT_QUEUE_H
#define RECORD_HEAP_FAULT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/heap/collector.h"

#define FAULT_AGAIN_NS UINT64_C(100000000)

struct fault_queue {
	struct queued_faults {
		struct fault *at;
		size_t nr, room;
		size_t next; /* those before are done */
	} fresh, again;
	struct fault current;
	bool is_again; /* the one given out last */
};

void fault_queue_release(struct fault_queue *queue);

void fault_queue_fill(struct fault_queue *queue, heap_take_faults *take, void *context);
/* NULL: there is none from before that time (CLOCK_MONOTONIC).  Valid until the next call. */
const struct fault *fault_queue_next(struct fault_queue *queue, uint64_t until_ns);
/* When the next one was; UINT64_MAX: there is none. */
uint64_t fault_queue_next_ns(const struct fault_queue *queue);
/* Those of a process, whenever they were: they are done with. */
void fault_queue_take_of(struct fault_queue *queue, int32_t pid,
			 void (*use)(void *context, const struct fault *fault), void *context);
/* Of the one given out last; false: it has been looked up again already. */
bool fault_queue_again(struct fault_queue *queue);

#endif
