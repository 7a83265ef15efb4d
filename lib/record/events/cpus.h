/* SPDX-License-Identifier: MIT */
/*
 * cpus - the CPUs that are online, whichever of them this process may use.
 *
 * An event is opened on each of them: a thread may be let onto any later on.
 */
#ifndef RECORD_EVENTS_CPUS_H
#define RECORD_EVENTS_CPUS_H

#include <stddef.h>

struct cpus {
	int *at;
	size_t nr, room;
};

void cpus_online(struct cpus *cpus);
void cpus_release(struct cpus *cpus);

/* "0-3,8,10-11"; -1 if it is something else. */
int cpus_parse(struct cpus *cpus, const char *list);

#endif
