/* SPDX-License-Identifier: MIT */
/*
 * halt - all threads of processes stand still for a moment, so that none starts another one.
 *
 *	if (halt_begin(&halt, attach, &err) < 0)	// ptrace is refused, or one does not stop
 *		return ret;
 *	halt.threads					// all there are
 *	halt_end(&halt);
 */
#ifndef RECORD_STOPS_HALT_H
#define RECORD_STOPS_HALT_H

#include "base/map.h"
#include "record/stops/stops.h"
#include "record/target/attach.h"

struct halt {
	struct attach_threads threads;
	struct map known; /* the same */
	struct stops stops;
	struct stops_halted halted;
	bool others_trace; /* one that runs */
};

/* By the thread that ends it, and then itself: all that stand still are traced by it.  After a failure
 * none does, but one that did not stop in time would still, as soon as it runs, until then. */
int halt_begin(struct halt *halt, const struct attach *attach, struct error *err);
void halt_end(struct halt *halt);

#endif
