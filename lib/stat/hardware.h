/* SPDX-License-Identifier: MIT */
/*
 * hardware - the PMU's events over runs of a program.
 *
 *	hardware_plan(&hardware, full, &access);	// tries what can be counted, and together
 *	for each run {
 *		hardware_open(&hardware, pid);
 *		...					// the program runs
 *		hardware_close(&hardware);		// reads
 *	}
 *	hardware_result(&hardware, events);		// hardware.nr of them
 *	hardware_release(&hardware);
 *
 * Nothing here fails: an event that cannot be counted carries its reason.
 */
#ifndef STAT_HARDWARE_H
#define STAT_HARDWARE_H

#include "record/events/access.h"
#include "stat/group.h"
#include "stat/grouping.h"
#include "stat/tally.h"

enum { HARDWARE_MAX_EVENTS = 14 };

struct hardware_event {
	const struct event_type *type;
	unsigned int set;    /* those of one set are not separated; 0 is the anchor */
	const char *partner; /* counted in relation to; NULL */
	enum profile_status status;
	char *reason;
	struct tally tally;
};

struct hardware {
	const struct access *access;
	struct hardware_event events[HARDWARE_MAX_EVENTS];
	size_t nr;
	bool user_only; /* that is all we are allowed */
	struct grouping groups;
	struct group *open; /* one for each of groups, while a program runs */
	struct group_counts *counts;
};

void hardware_plan(struct hardware *hardware, bool full, const struct access *access);
void hardware_open(struct hardware *hardware, pid_t pid);
void hardware_close(struct hardware *hardware);
/* Reasons become the caller's. */
void hardware_result(struct hardware *hardware, struct stat_event *events);
void hardware_release(struct hardware *hardware);

#endif
