/* SPDX-License-Identifier: MIT */
/*
 * software - the kernel's own counts and the resource usage of a run.
 *
 *	software_plan(&software, &access);
 *	for each run {
 *		software_open(&software, pid);
 *		...
 *		software_close(&software, &run.usage);
 *	}
 *	software_result(&software, events);		// SOFTWARE_NR of them
 *	software_release(&software);
 *
 * Where perf is refused, or counts only what happens outside the kernel (which for faults and
 * switches is wrong), the figures of getrusage(2) stand in: the same counts, of the program and
 * what it waited for.  CPU migrations have no such stand-in.
 */
#ifndef STAT_SOFTWARE_H
#define STAT_SOFTWARE_H

#include <sys/resource.h>

#include "record/events/access.h"
#include "stat/group.h"
#include "stat/tally.h"

enum software_event {
	SOFTWARE_TASK_CLOCK,
	SOFTWARE_PAGE_FAULTS,
	SOFTWARE_MINOR_FAULTS,
	SOFTWARE_MAJOR_FAULTS,
	SOFTWARE_CONTEXT_SWITCHES,
	SOFTWARE_CPU_MIGRATIONS,
	SOFTWARE_USER_TIME,
	SOFTWARE_SYSTEM_TIME,
	SOFTWARE_MAX_RSS,
	SOFTWARE_NR
};

struct software {
	struct group group;
	bool by_perf;  /* perf counts these, kernel included */
	char *why_not; /* perf does not */
	enum profile_status refused;
	struct tally tallies[SOFTWARE_NR];
};

void software_plan(struct software *software, const struct access *access);
void software_open(struct software *software, pid_t pid);
void software_close(struct software *software, const struct rusage *usage);
void software_result(const struct software *software, struct stat_event *events);
void software_release(struct software *software);

#endif
