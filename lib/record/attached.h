/* SPDX-License-Identifier: MIT */
/*
 * attached - the start of a recording of what runs already.
 *
 *	struct attached attached = { 0 };
 *
 *	attached_open_threads(&attached, &threads, events, &err);
 *	... rings ...
 *	events_start_side(events);
 *	attached_tell(&attach, &modules, processes, now_ns);	// what was there before
 *	events_start(events);
 *	if (attached_counts(&attached, events, root, tid))
 *		use(sample);
 *	attached_release(&attached);
 *
 * What a thread starts inherits its events, but each thread there is needs events of its own: a
 * root.  One that starts while they are opened may have inherited events or not: nothing tells.  So
 * they are to be opened while none starts, see attach_are_all() and halt.h.  Where that cannot be
 * had, attached_open_others() makes roots of those that are new as well.  Should samples of one
 * thread come from two roots, that thread or who started it had inherited events, and the root that
 * was opened later is closed: what is sampled at all is not missed, and counts twice only until then.
 */
#ifndef RECORD_ATTACHED_H
#define RECORD_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "object/module.h"
#include "record/events/events.h"
#include "record/processes.h"
#include "record/target/attach.h"

struct attached {
	struct map roots;   /* tid to which one it is, from 1 on; CLOSED */
	struct map root_of; /* of each thread's latest sample */
};

/* At each of them, but for the one they were opened at first, and what has ended. */
int attached_open_threads(struct attached *attached, const struct attach_threads *threads,
			  struct events *events, struct error *err);
/* At all that the processes have started meanwhile.  How many; negative: a failure. */
int attached_open_others(struct attached *attached, const struct attach *attach,
			 struct events *events, struct error *err);
void attached_release(struct attached *attached);

/* Programs, threads and mappings that nobody will tell of any more. */
void attached_tell(const struct attach *attach, struct modules *modules,
		   struct processes *processes, uint64_t now_ns);

/* Whether a sample of this thread counts, by events opened at `root`. */
bool attached_counts(struct attached *attached, struct events *events, pid_t root, pid_t tid);
/* Its tid may be used again. */
void attached_ended(struct attached *attached, pid_t tid);

#endif
