/* SPDX-License-Identifier: MIT */
/*
 * ladder - what of the events asked for can be sampled here, and what instead.
 *
 *	struct ladder ladder;
 *
 *	if (ladder_climb(&ladder, &wanted, &sampling, &access, &probe, &err) < 0)
 *		no_cpu_side(err.message);		// nothing at all
 *	else
 *		open(ladder.events, ladder.limits);
 *	ladder_release(&ladder);
 *
 * Each step is tried by opening, with the very attributes that are used afterwards:
 *
 *	precise 2, 1, 0			where the CPU cannot tell the exact instruction
 *	without the kernel's code	where that takes privilege
 *	without a member		where there is no such event, or it does not fit the others
 *	cpu-clock for the leader	where there is no such event
 *
 * Where not even that is allowed CPU time is sampled without perf, by record/stopper.h.
 *
 * Members that nothing stands in for stay in the list with the reason.
 */
#ifndef RECORD_EVENTS_LADDER_H
#define RECORD_EVENTS_LADDER_H

#include "record/events/access.h"
#include "record/events/event_types.h"
#include "record/events/sampling.h"

enum ladder_state {
	LADDER_SAMPLED,
	LADDER_NOT_SUPPORTED,
	LADDER_NOT_PERMITTED,
};

struct ladder_event {
	const struct event_type *type;
	enum ladder_state state;
	char *reason;		     /* why not, or why this one instead; NULL */
	const char *substituted_for; /* NULL: this one was asked for */
};

struct ladder {
	struct ladder_event *events; /* those sampled first, the leader first of all */
	size_t nr, nr_sampled;
	struct sampling_limits limits;
};

/* How to open an event on the program: a descriptor or -errno. */
struct ladder_probe {
	int (*open)(void *context, const struct perf_event_attr *attr, int group_fd);
	void (*close)(void *context, int fd);
	void *context;
};

/* wanted has to outlive the ladder.  Nothing stays open. */
int ladder_climb(struct ladder *ladder, const struct event_types *wanted,
		 const struct sampling *sampling, const struct access *access,
		 const struct ladder_probe *probe, struct error *err);
void ladder_release(struct ladder *ladder);

#endif
