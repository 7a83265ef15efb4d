/* SPDX-License-Identifier: MIT */
/*
 * collector - takes the heap events of all processes out of the shared rings, models the heap, and
 * keeps the profile's heap figures up to date.
 *
 *	struct heap_collector_config config = { .aggregate = ..., .image_of = ... };
 *
 *	heap_collector_open(&collector, &config, &err);
 *	setenv(WIRE_ENV, heap_collector_variable(collector));	// of the program, with LD_PRELOAD
 *	heap_collector_start(collector, start_ns, &err);	// before the program
 *	...							// run it, wait for its end
 *	heap_collector_finish(collector, &totals);		// once perf's records are all told
 *	heap_collector_free(collector);
 *
 * A thread of its own does the work: it sleeps until a ring is half full or some milliseconds have
 * passed, touches no file and no terminal, and hands what changed to the aggregate when it is told to.
 * The program waits for it when a ring is full, so it must not be kept waiting by anybody else.
 *
 * Whatever ends the program, what it published is counted: the rings are ours.  Nothing that
 * is read from them is trusted.
 */
#ifndef RECORD_HEAP_COLLECTOR_H
#define RECORD_HEAP_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "record/aggregate/aggregate.h"
#include "record/ring/faults.h"
#include "shim/wire.h"

/* What an image says of itself when its heap begins to be accounted. */
struct heap_hello {
	int32_t pid, parent_pid;
	bool is_forked;		/* and goes on with its parent's program */
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	const char *executable; /* NULL: not known */
	char *const *arguments;
	size_t nr_arguments;
};

/* What an image says that it, or a child of its, executes. */
struct heap_exec {
	int32_t pid, by_pid; /* the same: in its own place */
	uint64_t time_ns;    /* CLOCK_MONOTONIC, before it */
	uint64_t by_said_ns; /* of the hello of who says so; 0: not known */
	char *path;	     /* as it was given; NULL: not known */
	bool is_filtered;    /* under filters (seccomp) with which it will say no hello */
};

/* Puts at most room page faults there, in no particular order; fewer: that is all for now. */
typedef size_t heap_take_faults(void *context, struct fault *to, size_t room);

/* Called by the collector's thread. */
struct heap_collector_config {
	struct aggregate *aggregate;
	unsigned int
		ring_log2;     /* slots of a process's first rings, 32 bytes each; 0: the default */
	enum wire_mode mode;   /* 0: exact */
	uint64_t sample_bytes; /* in WIRE_MODE_SAMPLE */

	void *context;
	/* The profile's id of the image, or PROFILE_NONE: not known yet, ask again.  at_last: there
	 * is no later. */
	uint32_t (*image_of)(void *context, const struct heap_hello *hello, bool at_last);
	/* The image is not accounted, or no longer, for this reason. */
	void (*untracked)(void *context, uint32_t process, const char *reason);
	/* The image is over. */
	void (*ended)(void *context, uint32_t process, uint64_t time_ns);
	/* The process executed, or is about to, what may never say hello.  After all hellos, and before
	 * its end is told. */
	void (*executed)(void *context, const struct heap_exec *exec);
	/* The process ended, or is about to, as wait() says; time_ns is hardly before its end. */
	void (*ended_as)(void *context, int32_t pid, uint64_t time_ns, int wait_status);
};

struct heap_collector;

/* ERR_UNSUPPORTED or ERR_REFUSED if the shared memory cannot be had. */
int heap_collector_open(struct heap_collector **collector,
			const struct heap_collector_config *config, struct error *err);

/* The value of the environment variable WIRE_ENV for the program; valid until _free(). */
const char *heap_collector_variable(const struct heap_collector *collector);

/* Page faults count for the blocks they are in, from here on: before the start. */
void heap_collector_take_faults(struct heap_collector *collector, heap_take_faults *take);

/* start_ns: of the recording, CLOCK_MONOTONIC. */
int heap_collector_start(struct heap_collector *collector, uint64_t start_ns, struct error *err);

/* Returns when image_of() was asked for all images that have said hello up to now, or after some hundred
 * milliseconds, by which a collector that is busy has not come to it.  From any thread but its own. */
void heap_collector_catch_up(struct heap_collector *collector);

/* Likewise when all that happened up to now is in the aggregate. */
void heap_collector_push(struct heap_collector *collector);

/* Lets nobody in any more, takes out what is left, hands the last figures to the aggregate, ends the
 * threads.  A process that still runs goes on without us. */
void heap_collector_finish(struct heap_collector *collector);

/* The descriptor of the file of the module with this id in the profile; -1: there is none, or no
 * heap stack goes through it.  After _finish(), valid until _free(). */
int heap_collector_module_fd(const struct heap_collector *collector, uint32_t profile_module);

/* Finishes first if that was not done. */
void heap_collector_free(struct heap_collector *collector);

#endif
