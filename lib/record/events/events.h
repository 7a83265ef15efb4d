/* SPDX-License-Identifier: MIT */
/*
 * events - the open events of a recording: a group on every CPU, and beside it two that tell of
 * processes: one of forks, names and exits, one of mappings.
 *
 *	events_open(&events, pid, &ladder, &sampling, &access, &err);
 *	events_add(events, another_thread, &err);	// attaching: each thread there is
 *	for (size_t i = 0; i < events->nr; i++)
 *		give_rings(events->at[i].cpu, events->at[i].group, events->at[i].side,
 *			   events->at[i].names);
 *	...					// they start when pid executes,
 *	events_start_side(events);		// or when attaching now,
 *	events_start(events);			// or with a delay now
 *	events_confirm(events);			// now and then
 *	...
 *	events_stop(events);
 *	events_count(events, 0, &count);
 *	events_close(events);
 *
 * Everything these threads start, threads and processes, inherits them.
 */
#ifndef RECORD_EVENTS_EVENTS_H
#define RECORD_EVENTS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "record/events/cpus.h"
#include "record/events/ladder.h"

/* Those of one thread on one CPU. */
struct events_at {
	pid_t tid;
	size_t cpu; /* which of events->cpus */
	int side;   /* mappings; -1: all are closed */
	int names;  /* forks, names (also of execs) and exits */
	int *group; /* nr_events; the first one leads */
	int *wide;  /* the same events with more of the stack; NULL: not opened */
};

struct events {
	struct cpus cpus;
	struct events_at *at;
	size_t nr, room;
	size_t nr_events;
	struct perf_event_attr *attrs; /* nr_events */
	struct perf_event_attr side_attr, names_attr;
	struct map by_id;   /* perf's id to at * nr_events + event */
	uint64_t before_ns; /* of the program's time on CPUs, before the group started */
	bool is_wide;
	bool is_started;	    /* not by an exec: by us */
	unsigned int confirmations; /* still to be made */
	/* What they were opened by. */
	const struct ladder *ladder;
	const struct access *access;
};

/* Opens those of the ladder that are sampled.  Leaves nothing behind on failure.  ladder and access
 * have to stay. */
int events_open(struct events **events, pid_t pid, const struct ladder *ladder,
		const struct sampling *sampling, const struct access *access, struct error *err);
/* Descriptors only; rings that are mapped live on until they are unmapped. */
void events_close(struct events *events);

/* The same for one more thread.  -ESRCH: it has ended. */
int events_add(struct events *events, pid_t tid, struct error *err);
/* Of a thread that turned out to have inherited others already: it would count twice. */
void events_remove(struct events *events, pid_t tid);

/*
 * What is copied of the stack is fixed when an event is opened.  So the same events can be opened a
 * second time, with stack_bytes of it, writing into the rings of the first, which have to be mapped
 * already.  Only one of the two counts: events_widen() changes over, once they were started.  When
 * they cannot be opened, it does nothing.
 */
void events_open_wide(struct events *events, uint32_t stack_bytes);
void events_widen(struct events *events, bool wide);

void events_start_side(struct events *events);
void events_start(struct events *events); /* of what has inherited them as well */
/*
 * A thread that is just being started while these, or events_widen(), change over may copy its
 * events as they were and only then become known as an heir: it, and all that it starts, would stay
 * without.  So the change is made again some times: to be called now and then.
 */
void events_confirm(struct events *events);
void events_stop(struct events *events);

struct events_count {
	double value;	 /* extrapolated if coverage is below 0.99 */
	double coverage; /* share of the program's time on the CPUs in which it counted */
};

/* Of all processes and CPUs together.  events->nr_events is the program's time on CPUs since the
 * group started, in ns. */
void events_count(const struct events *events, size_t event, struct events_count *count);

/* Which event has this id of perf's, and at which thread it was opened; -1: none. */
int events_find(const struct events *events, uint64_t id, pid_t *tid);

#endif
