/* SPDX-License-Identifier: MIT */
/*
 * pmu - the PMUs of this machine and their events, as sysfs describes them.
 *
 *	pmu_encode(&type, PMU_SYSFS, "cpu", "event=0xc2,umask=1", &err);	// by its format
 *	pmu_encode(&type, PMU_SYSFS, "msr", "tsc", &err);			// by its events
 *
 * The folder of a PMU holds its number (type), where in the perf attributes its terms belong
 * (format/umask: "config:8-15") and the terms of the events that have names (events/tsc:
 * "event=0x00"), some with a unit and a scale.
 */
#ifndef RECORD_EVENTS_PMU_H
#define RECORD_EVENTS_PMU_H

#include "base/error.h"
#include "record/events/event_type.h"

#define PMU_SYSFS "/sys/bus/event_source/devices"

/*
 * Fills in all but name and about; unit is NULL or to be freed.  Terms are separated by commas:
 * the name of an event, "config=0x1c2", or terms of the format with a value (1 if there is none).
 * ERR_USAGE for what sysfs does not have.
 */
int pmu_encode(struct event_type *type, const char *root, const char *pmu, const char *terms,
	       struct error *err);

/* The events of all PMUs, as "pmu/event/", sorted.  Free both name and list. */
char **pmu_events(const char *root, size_t *nr);
/* The terms of one of these; NULL.  Free them. */
char *pmu_event_terms(const char *root, const char *name);

#endif
