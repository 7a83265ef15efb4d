/* SPDX-License-Identifier: MIT */
/*
 * intake - brings the events of all rings into one order and gives them to the model.
 *
 *	intake_init(&intake, &channel, model, frames);
 *	intake.start_ns = start_ns;		// of the recording, CLOCK_MONOTONIC
 *	intake_round(&intake);			// again and again; everything that can be ordered
 *	...
 *	intake_drain(&intake);			// the program is over: everything that is there
 *	intake_release(&intake);
 *
 * An event may be taken when no event with a smaller number can still appear: shim/wire.h says how
 * that is known.  A thread that stops between taking a number and publishing its event holds
 * up all others; after a while they go on without it, and what it publishes then is late.  A late
 * event is applied like any other: a free is published before its address can be given out again,
 * and an allocation before anybody can free it, so per address the order still holds.
 *
 * Images begin with a new segment, by an exec or a fork, and end with the process, or when the same
 * process shows another segment (exec).  The end has a place in the order too: the earliest it can
 * have had, so that a process that starts after it does not add to its heap.
 */
#ifndef RECORD_HEAP_INTAKE_H
#define RECORD_HEAP_INTAKE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "record/heap/channel.h"
#include "record/heap/execs.h"
#include "record/heap/fault_queue.h"
#include "record/heap/forks.h"
#include "record/heap/frames.h"
#include "record/heap/image.h"
#include "record/heap/model.h"
#include "record/heap/order.h"
#include "record/heap/segment.h"
#include "record/heap/ticks.h"

#define INTAKE_BATCH 4096

/* A process was seen to end so. */
struct intake_ending {
	int32_t pid;
	int wait_status;
	uint64_t time_ns; /* CLOCK_MONOTONIC; not before its end */
};

struct intake {
	struct channel *channel;
	struct heap_model *model;
	struct frames *frames;
	enum wire_mode mode;
	uint64_t sample_bytes; /* of WIRE_MODE_SAMPLE */
	uint64_t start_ns;

	struct segment *segment_at[WIRE_SEGMENTS]; /* by index in the channel; NULL: none */
	VEC(struct segment *) segments;		   /* those that live */
	VEC(struct segment *) fresh;		   /* just found */
	VEC(struct segment *) over;		   /* whose stacks may still be needed */
	VEC(struct image *) images;		   /* all there were, in the order of their start */
	struct forks forks;
	struct execs execs;		   /* the owner's to take out */
	VEC(struct intake_ending) endings; /* the owner's to take out */
	VEC(struct pollfd) pidfds;
	heap_take_faults *take_faults; /* NULL: nobody knows of page faults */
	void *context;
	struct fault_queue faults;
	struct order order;
	struct ticks ticks;

	struct heap_event batch[INTAKE_BATCH];
	size_t nr_batch;
	uint64_t events;     /* taken so far */
	uint64_t applied;    /* the largest number so far */
	uint64_t reached_ns; /* by events so far, since start_ns */
	uint64_t beat_ns;
	uint64_t rested_ns;  /* when intake_until_pressed_ns() was last asked */
	uint64_t blocked_ns; /* since when nothing could be taken although something is there */
	enum { PATIENT, GAVE_UP_LOWS, IGNORE_NUMBERS } patience;
};

void intake_init(struct intake *intake, struct channel *channel, struct heap_model *model,
		 struct frames *frames);
void intake_release(struct intake *intake);

/* True if something was taken. */
bool intake_round(struct intake *intake);
void intake_drain(struct intake *intake);

/* A ring is half full: no time to sleep. */
bool intake_is_pressed(const struct intake *intake);
/* How long until one is, if all fill as they did since this was last asked; UINT64_MAX: none does. */
uint64_t intake_until_pressed_ns(struct intake *intake);
/* What is there cannot be ordered yet. */
bool intake_is_blocked(const struct intake *intake);

/* Resolves some stacks; true: there are more to resolve.  Segments of images that are over are
 * given back when all of theirs are. */
bool intake_resolve(struct intake *intake);

/* Now and then: ends images that executed a program without our shim, forgets forks that failed and
 * gives free what was claimed by who is dead. */
void intake_tidy(struct intake *intake);

/* The process still has what it had before, or its parent's. */
bool intake_exec_may_fail(const struct intake *intake, const struct heap_exec *exec);

#endif
