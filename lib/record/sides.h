/* SPDX-License-Identifier: MIT */
/*
 * sides - the two sides of a recording, CPU and heap, and the memory beside them; each with a
 * thread of its own.
 *
 *	struct sides sides = { .config = &config, .aggregate = aggregate, .run = &run };
 *
 *	sides_open_heap(&sides, &environment);	// before the program: its environment tells it
 *	sides_open_cpu(&sides, &target);	// it has a pid
 *	if (sides_judge(&sides, &err) < 0)
 *		do_not_run_it(&err);
 *	sides_start(&sides, processes, start_ns, &err);
 *	sides_watch(&sides, start_ns);		// it runs
 *	sides_gather(&sides);			// the aggregate gets what it has not yet
 *	sides_stop(&sides);
 *	sides_release(&sides);			// files of modules are open until here
 *
 * What could not be opened is no error here: run says why, and sides_judge() whether the program
 * may run without it.
 */
#ifndef RECORD_SIDES_H
#define RECORD_SIDES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/aggregate/aggregate.h"
#include "record/committer.h"
#include "record/events/event_types.h"
#include "record/heap/collector.h"
#include "record/images.h"
#include "record/memory.h"
#include "record/processes.h"
#include "record/record.h"
#include "record/ring/faults.h"
#include "record/sampler.h"
#include "record/stopper.h"
#include "record/target/attach.h"
#include "record/target/environment.h"

struct sides {
	const struct record_config *config;
	struct aggregate *aggregate;
	struct profile_run *run; /* gets what each side is, or why it is not */

	struct images *images;		  /* while they run */
	struct sampler *sampler;	  /* NULL: perf is refused */
	struct stopper *stopper;	  /* instead; NULL as well: no CPU side */
	struct heap_collector *collector; /* NULL: no heap side */
	struct faults *faults;		  /* NULL: not asked for */
	struct memory *memory;
	struct error cpu_refused, heap_refused; /* why a side is missing */
	struct error perf_refused;		/* why the stopper is there */
};

struct sides_target {
	const struct event_types *events;
	const struct attach *attach; /* to these processes; nr 0: */
	pid_t pid;		     /* to the program */
	struct committer *committer; /* for how it is sampled */
};

void sides_open_heap(struct sides *sides, struct environment *environment);
void sides_open_cpu(struct sides *sides, const struct sides_target *target);
/* Of a program to be started, if asked for; on failure the recording goes on without. */
void sides_open_faults(struct sides *sides, pid_t pid);

/* What is refused is said, and the program runs with the other side, unless it was asked for. */
int sides_judge(const struct sides *sides, struct error *err);

/* images, and processes as the CPU side tells of them, have to be there until sides_stop(). */
int sides_start(struct sides *sides, struct images *images, struct processes *processes,
		uint64_t start_ns, struct error *err);
/* Once the program is what is in the process, not a copy of us. */
void sides_watch(struct sides *sides, uint64_t start_ns);
/* From any thread, up to sides_release(). */
void sides_gather(void *sides);
/* The delay is over. */
void sides_begin(struct sides *sides);

/* Takes what is there and ends the threads.  May be called again. */
void sides_stop(struct sides *sides);
void sides_release(struct sides *sides);

bool sides_has_cpu(const struct sides *sides);
/* See record_module_fd(). */
int sides_module_fd(const struct sides *sides, uint32_t profile_module);

/* What the user should know at once. */
void sides_say(const struct sides *sides, const struct error *error);

#endif
