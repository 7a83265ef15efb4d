/* SPDX-License-Identifier: MIT */
/*
 * event_types - lists of events, from text.
 *
 *	struct event_types wanted = { 0 };
 *
 *	event_types_parse(&wanted, "cycles,{branches,branch-misses}:u,cpu/event=0xc2/", &err);
 *	for (size_t i = 0; i < wanted.nr; i++)
 *		use(wanted.at[i].name, wanted.at[i].type, wanted.at[i].config);
 *	event_types_release(&wanted);
 *
 * An event is one of
 *
 *	cycles			a generic name or its alias
 *	r01c2			the code of an event of the CPU's PMU, in hexadecimal
 *	msr/tsc/, cpu/event=1/	an event of a PMU in sysfs, by its name or the terms of its format
 *	sched:sched_switch	a tracepoint
 *	INST_RETIRED:ANY_P	a name of the CPU's manual, where libpfm is built in
 *
 * with ":u" (user code only) or ":k" (the kernel only) behind it, also behind a group in braces.
 */
#ifndef RECORD_EVENTS_EVENT_TYPES_H
#define RECORD_EVENTS_EVENT_TYPES_H

#include "base/error.h"
#include "record/events/event_type.h"

struct event_types {
	struct event_type *at;
	size_t nr, room;
};

/* What `cprof record` samples by itself, leader first: "cycles,instructions,...". */
extern const char event_types_default[];

/* Appends the events of the list.  ERR_USAGE for what nobody knows, ERR_REFUSED for names that
 * this user may not look up. */
int event_types_parse(struct event_types *types, const char *list, struct error *err);
void event_types_release(struct event_types *types);

#endif
