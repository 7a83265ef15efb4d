/* SPDX-License-Identifier: MIT */
/*
 * sampler - the CPU side of a recording, and its thread.
 *
 *	if (sampler_open(&sampler, &config, pid, &err) < 0)	// pid has not executed yet
 *		no_cpu_side(err.message);
 *	sampler_start(sampler, processes, start_ns, &err);
 *	... the program runs ...
 *	sampler_finish(sampler);
 *	fd = sampler_module_fd(sampler, profile_module_id);	// kept open until close
 *	sampler_close(sampler);
 *
 * The thread reads the rings, opens the files that are mapped at once, puts the records in order,
 * and hands processes and samples on.
 */
#ifndef RECORD_SAMPLER_H
#define RECORD_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/aggregate/aggregate.h"
#include "record/events/event_type.h"
#include "record/events/sampling.h"
#include "record/processes.h"
#include "record/target/attach.h"

struct sampler_config {
	const struct event_types *events;
	const struct attach *attach; /* to these processes, not the pid; NULL */
	struct sampling sampling;
	const char *shim; /* path of our own module, or NULL */
	struct aggregate *aggregate;
};

struct sampler;

/* ERR_REFUSED or ERR_UNSUPPORTED with the reason when nothing can be sampled.  config->events
 * and attach have to stay. */
int sampler_open(struct sampler **sampler, const struct sampler_config *config, pid_t pid,
		 struct error *err);
void sampler_close(struct sampler *sampler);

/* processes has to be there until sampler_finish().  start_ns: of the recording, CLOCK_MONOTONIC.
 */
int sampler_start(struct sampler *sampler, struct processes *processes, int64_t start_ns,
		  struct error *err);
/* With sampling.delayed: now. */
void sampler_begin(struct sampler *sampler);
/* Stops the events, takes what is in the rings, counts, and ends the thread. */
void sampler_finish(struct sampler *sampler);

/* What may matter to whoever wonders about a profile. */
struct sampler_facts {
	int paranoid;	   /* kernel.perf_event_paranoid */
	size_t ring_bytes; /* of samples, a CPU */
	/* That it is not sampled as often as was asked for, and why; NULL: it is. */
	const char *lowered;
};
struct sampler_facts sampler_facts(const struct sampler *sampler);

/* Why something else than asked for is sampled; NULL: it is not. */
const char *sampler_reason(const struct sampler *sampler);
bool sampler_user_only(const struct sampler *sampler);

/* Of the file that this module of the profile was mapped from; -1: not known, or not readable. */
int sampler_module_fd(const struct sampler *sampler, uint32_t profile_module);

#endif
