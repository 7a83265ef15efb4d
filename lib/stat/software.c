/* SPDX-License-Identifier: MIT */
#include "stat/software.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stat/reason.h"

static const struct {
	const char *name, *unit;
} names[SOFTWARE_NR] = {
	[SOFTWARE_TASK_CLOCK] = { "task-clock", "ns" },
	[SOFTWARE_PAGE_FAULTS] = { "page-faults", "" },
	[SOFTWARE_MINOR_FAULTS] = { "minor-faults", "" },
	[SOFTWARE_MAJOR_FAULTS] = { "major-faults", "" },
	[SOFTWARE_CONTEXT_SWITCHES] = { "context-switches", "" },
	[SOFTWARE_CPU_MIGRATIONS] = { "cpu-migrations", "" },
	[SOFTWARE_USER_TIME] = { "user-time", "s" },
	[SOFTWARE_SYSTEM_TIME] = { "system-time", "s" },
	[SOFTWARE_MAX_RSS] = { "max-rss", "bytes" },
};
enum { NR_PERF = SOFTWARE_CPU_MIGRATIONS + 1 };

static void find_types(const struct event_type **types)
{
	for (int i = 0; i < NR_PERF; i++)
		types[i] = event_type_find(names[i].name);
}

static int try_to_open(const struct event_type *const *types, bool user_only)
{
	struct group group;
	int ret = group_open(&group, types, NR_PERF, 0, GROUP_STOPPED, user_only);

	group_close(&group);
	return ret;
}

void software_plan(struct software *software, const struct access *access)
{
	const struct event_type *types[NR_PERF];
	int ret;

	*software = (struct software){ 0 };
	find_types(types);
	ret = try_to_open(types, false);
	software->by_perf = !ret;
	if (ret < 0 && !try_to_open(types, true))
		software->why_not = reason_kernel_refused(access, &software->refused);
	else if (ret < 0)
		software->why_not = reason_refused(access, -ret, types[0], &software->refused);
}

/* The task-clock alone is right without the kernel too: it is time, not events. */
void software_open(struct software *software, pid_t pid)
{
	const struct event_type *types[NR_PERF];

	find_types(types);
	if (group_open(&software->group, types, software->by_perf ? NR_PERF : 1, pid,
		       GROUP_FROM_EXEC, !software->by_perf) < 0)
		software->group.nr = 0;
}

static void add(struct software *software, enum software_event event, double count)
{
	struct reading reading = {
		.count = count,
		.running_ns = 1,
		.instructions = NAN,
		.partner = NAN,
	};

	tally_add(&software->tallies[event], &reading);
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void add_usage(struct software *software, const struct rusage *usage)
{
	add(software, SOFTWARE_USER_TIME, seconds(&usage->ru_utime));
	add(software, SOFTWARE_SYSTEM_TIME, seconds(&usage->ru_stime));
	add(software, SOFTWARE_MAX_RSS, (double)usage->ru_maxrss * 1024);
}

static void add_stand_ins(struct software *software, const struct rusage *usage)
{
	add(software, SOFTWARE_PAGE_FAULTS, (double)(usage->ru_minflt + usage->ru_majflt));
	add(software, SOFTWARE_MINOR_FAULTS, (double)usage->ru_minflt);
	add(software, SOFTWARE_MAJOR_FAULTS, (double)usage->ru_majflt);
	add(software, SOFTWARE_CONTEXT_SWITCHES, (double)(usage->ru_nvcsw + usage->ru_nivcsw));
}

void software_close(struct software *software, const struct rusage *usage)
{
	struct group_counts counts;

	if (software->group.nr && !group_read(&software->group, &counts)) {
		for (size_t i = 0; i < software->group.nr; i++)
			add(software, (enum software_event)i, (double)counts.values[i]);
	}
	if (software->group.nr < NR_PERF)
		add_stand_ins(software, usage);
	add_usage(software, usage);
	group_close(&software->group);
}

static char *reason_of(const struct software *software, enum software_event event, bool counted)
{
	if (software->by_perf || event > SOFTWARE_CPU_MIGRATIONS)
		return NULL;
	if (!counted)
		return xstrdup(software->why_not);
	if (event == SOFTWARE_TASK_CLOCK)
		return NULL;
	return xasprintf("by getrusage: %s", software->why_not);
}

void software_result(const struct software *software, struct stat_event *events)
{
	for (int i = 0; i < SOFTWARE_NR; i++) {
		struct stat_event *event = &events[i];

		*event = (struct stat_event){ .name = names[i].name, .unit = names[i].unit };
		tally_result(&software->tallies[i], event);
		if (!event->value.nr)
			event->status = software->refused;
		event->reason = reason_of(software, i, event->value.nr);
	}
}

void software_release(struct software *software)
{
	group_close(&software->group);
	free(software->why_not);
}
