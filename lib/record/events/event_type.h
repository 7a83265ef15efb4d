/* SPDX-License-Identifier: MIT */
/*
 * event_type - the events there are names for.
 *
 *	struct event_types wanted = { 0 };
 *
 *	event_types_parse(&wanted, "cycles,instructions", &err);
 *	for (size_t i = 0; i < wanted.nr; i++)
 *		use(wanted.at[i].name, wanted.at[i].type, wanted.at[i].config);
 *	event_types_release(&wanted);
 *
 * perf's generic names and their usual aliases ("faults", "cs") are always known, and
 * where libpfm is built in the names of the CPU's manual too.  A known name need not be
 * available: that shows when it is opened.
 */
#ifndef RECORD_EVENTS_EVENT_TYPE_H
#define RECORD_EVENTS_EVENT_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct event_type {
	const char *name;
	const char *unit; /* of what it counts: "cycles", "ns"; "" for plain counts */
	uint32_t type;	  /* PERF_TYPE_*, or the number of a PMU */
	uint64_t config, config1, config2;
	/* Sampled at 1/n of the rate asked for, where less detail will do; 0 is 1. */
	unsigned int rate_divisor;
	const char *about;
};

struct event_types {
	struct event_type *at;
	size_t nr, room;
};

/* What `cprof record` samples by itself, leader first: "cycles,instructions,...". */
extern const char event_types_default[];

/* Appends the events of a comma-separated list.  ERR_USAGE for a name that nobody knows. */
int event_types_parse(struct event_types *types, const char *list, struct error *err);
void event_types_release(struct event_types *types);

/* The generic event of that name or alias; NULL. */
const struct event_type *event_type_find(const char *name);

/* All generic events; at[nr].name is NULL. */
const struct event_type *event_types_generic(void);

/* Counted by the kernel, not by hardware: always there where perf is allowed. */
bool event_type_is_software(const struct event_type *type);
/* Of time in nanoseconds, sampled by a timer. */
bool event_type_is_clock(const struct event_type *type);

#endif
