/* SPDX-License-Identifier: MIT */
/*
 * access - why the kernel refused to open an event, and what lifts that.
 *
 *	struct access access;
 *
 *	access_read(&access);
 *	fd = perf_event_open(...);
 *	if (fd < 0)
 *		return access_explain(&access, errno, type, err);
 *
 * Users cannot tell "no PMU in this VM" from "your kernel wants privilege" from "your container
 * forbids it" by an errno; with the sysctl and the process's own state beside it we can.
 */
#ifndef RECORD_EVENTS_ACCESS_H
#define RECORD_EVENTS_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "record/events/event_type.h"

/* What decides about access on this machine, for this process. */
struct access {
	int paranoid;	   /* kernel.perf_event_paranoid; ACCESS_UNKNOWN: not readable */
	bool seccomp;	   /* a system call filter is on */
	bool has_pmu;	   /* a hardware PMU of the CPU is known to the kernel */
	uint32_t max_rate; /* kernel.perf_event_max_sample_rate; 0: not known */
};

enum {
	ACCESS_UNKNOWN = -100,
};

void access_read(struct access *access);

/* Of the open with this errno, for good: exclude_kernel and the like have been tried.  Returns,
 * and err has as its code, ERR_REFUSED (permission, limits) or ERR_UNSUPPORTED (not there). */
int access_explain(const struct access *access, int errno_value, const struct event_type *type,
		   struct error *err);

/* Whether the errno speaks of this event only (try another), not of perf as a whole. */
bool access_is_about_event(int errno_value);

#endif
