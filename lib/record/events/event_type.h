/* SPDX-License-Identifier: MIT */
/*
 * event_type - what can be counted or sampled, and perf's generic names for it.
 *
 *	const struct event_type *type = event_type_find("cs");
 *
 *	use(type->name, type->type, type->config);	// "context-switches", PERF_TYPE_SOFTWARE, 3
 *
 * The generic names and their usual aliases ("faults", "cs") are always known.  A known name need
 * not be available: that shows when it is opened.  All other names are for event_types.h.
 */
#ifndef RECORD_EVENTS_EVENT_TYPE_H
#define RECORD_EVENTS_EVENT_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_type {
	const char *name;
	const char *unit; /* of what it counts: "cycles", "ns"; "" for plain counts */
	uint32_t type;	  /* PERF_TYPE_*, or the number of a PMU */
	uint64_t config, config1, config2;
	double scale; /* of a count to the unit; 0 is 1 */
	/* Sampled at 1/n of the rate asked for, where less detail will do; 0 is 1. */
	unsigned int rate_divisor;
	bool exclude_user, exclude_kernel; /* asked for as name:k, name:u */
	unsigned int group;		   /* in the n-th {...} of its list; 0: in none */
	bool system_wide;		   /* its PMU belongs to a socket or the machine */
	const char *about;
};

/*
 * The type of cpu-time, which no perf has: CPU time of threads that are stopped to be sampled, see
 * record/stops.  It cannot be counted.
 */
#define EVENT_TYPE_STOPS UINT32_MAX

/* The generic event of that name or alias; NULL. */
const struct event_type *event_type_find(const char *name);

/* The alias of a generic name; NULL. */
const char *event_type_alias(const char *name);

/* All generic events; at[nr].name is NULL. */
const struct event_type *event_types_generic(void);

/* Counted by the kernel, not by hardware: always there where perf is allowed. */
bool event_type_is_software(const struct event_type *type);
bool event_type_is_stops(const struct event_type *type);
/* Of time in nanoseconds, sampled by a timer. */
bool event_type_is_clock(const struct event_type *type);

#endif
