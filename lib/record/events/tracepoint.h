/* SPDX-License-Identifier: MIT */
/*
 * tracepoint - events of the kernel's own ("sched:sched_switch").
 *
 * Their numbers are in tracefs, which is for root only on most machines.
 */
#ifndef RECORD_EVENTS_TRACEPOINT_H
#define RECORD_EVENTS_TRACEPOINT_H

#include "base/error.h"
#include "record/events/event_type.h"

/* ERR_USAGE if tracefs has no such event, ERR_REFUSED if it is not for us, or not mounted. */
int tracepoint_find(struct event_type *type, const char *name, struct error *err);

/* All of them, as "system:event", sorted; *nr is 0 where tracefs cannot be read.  Free both name
 * and list. */
char **tracepoint_names(size_t *nr);

#endif
