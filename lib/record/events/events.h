/* SPDX-License-Identifier: MIT */
/*
 * events - the open events of a recording: a group on every CPU, and beside it one that tells
 * of mappings, names, forks and exits.
 *
 *	events_open(&events, pid, &ladder, &sampling, &err);	// they start when pid executes
 *	for (size_t i = 0; i < events->nr_cpus; i++)
 *		map(events->cpus[i].group[0], events->cpus[i].side);
 *	...
 *	events_stop(events);
 *	events_count(events, 0, &count);
 *	events_close(events);
 *
 * Everything the program starts, threads and processes, inherits them.
 */
#ifndef RECORD_EVENTS_EVENTS_H
#define RECORD_EVENTS_EVENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "record/events/ladder.h"

struct events_cpu {
	int cpu;
	int side;   /* writes records of its own ring */
	int *group; /* nr_events; the first one leads and has the ring of all */
};

struct events {
	struct events_cpu *cpus;
	size_t nr_cpus;
	size_t nr_events;
	struct perf_event_attr *attrs; /* nr_events */
	struct perf_event_attr side_attr;
	struct map by_id; /* perf's id to event */
};

/* Opens those of the ladder that are sampled.  The soft limit of open files is raised if need be.
 * Leaves nothing behind on failure. */
int events_open(struct events **events, pid_t pid, const struct ladder *ladder,
		const struct sampling *sampling, const struct access *access, struct error *err);
/* Descriptors only; rings that are mapped live on until they are unmapped. */
void events_close(struct events *events);

void events_stop(struct events *events);

struct events_count {
	double value;	 /* extrapolated if coverage is below 0.99 */
	double coverage; /* share of the program's time on the CPUs in which it counted */
};

/* Of all processes and CPUs together.  events->nr_events is the program's time on CPUs, in ns. */
void events_count(const struct events *events, size_t event, struct events_count *count);

/* Which event has this id of perf's; -1: none. */
int events_find(const struct events *events, uint64_t id);

#endif
