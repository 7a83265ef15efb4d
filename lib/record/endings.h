/* SPDX-License-Identifier: MIT */
/*
 * endings - when images ended, and how: by what the heap side, a wait and perf's records say.
 *
 *	endings_tell(images, pid, time_ns, status);	// somebody waited for it, or it said so
 *	endings_image(images, id, time_ns);		// its heap's end was seen
 *	endings_passed(images, time_ns);	// perf's records up to this time have been told
 *	endings_program(images, ended_ns, wait_status);
 *
 * A status is of a pid, which may be used again: it belongs to the image that the pid ran at the
 * time, and waits until perf's records have reached that.  May be called by any thread.
 */
#ifndef RECORD_ENDINGS_H
#define RECORD_ENDINGS_H

#include <stdint.h>

#include "record/images.h"

/* How the process that had this pid then ended, or is about to end: as wait() says. */
void endings_tell(struct images *images, int32_t pid, uint64_t time_ns, int wait_status);
/* It is over; where there are perf's records, they decide. */
void endings_image(struct images *images, uint32_t id, uint64_t time_ns);
void endings_passed(struct images *images, uint64_t time_ns);
/* No records will come any more. */
void endings_passed_all(struct images *images);
/* How the program itself ended: as waitpid() says. */
void endings_program(struct images *images, uint64_t time_ns, int wait_status);

#endif
