/* SPDX-License-Identifier: MIT */
#include "stat/software.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static const char no_usage[] = "getrusage tells it of programs that cprof started only";

static void find_types(const struct event_type **types)
{
	for (int i = 0; i < NR_PERF; i++)
		types[i] = event_type_find(names[i].name);
}

static int try_to_open(const struct event_type *const *types, bool user_only)
{
	struct group group;
	int ret = group_open(&group, types, NR_PERF, &group_here, user_only);

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
	software->has_clock = !ret || !try_to_open(types, true);
	if (ret < 0 && software->has_clock)
		software->why_not = reason_kernel_refused(access, &software->refused);
	else if (ret < 0)
		software->why_not = reason_refused(access, -ret, types[0], &software->refused);
}

/* The task-clock alone is right without the kernel too: it is time, not events. */
void software_open(struct software *software, const struct group_threads *threads)
{
	const struct event_type *types[NR_PERF];

	find_types(types);
	group_open(&software->group, types, software->by_perf ? NR_PERF : 1, threads,
		   !software->by_perf);
	software->counts = software->before = (struct group_counts){ 0 };
}

void software_enable(struct software *software)
{
	group_enable(&software->group);
}

static struct reading reading_of(double count)
{
	return (struct reading){
		.count = count,
		.running_ns = 1,
		.instructions = NAN,
		.partner = NAN,
	};
}

static void add(struct tally *const *tallies, enum software_event event, double count)
{
	struct reading reading = reading_of(count);

	tally_add(tallies[event], &reading);
}

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static void add_usage(struct tally *const *tallies, const struct rusage *usage)
{
	add(tallies, SOFTWARE_USER_TIME, seconds(&usage->ru_utime));
	add(tallies, SOFTWARE_SYSTEM_TIME, seconds(&usage->ru_stime));
	add(tallies, SOFTWARE_MAX_RSS, (double)usage->ru_maxrss * 1024);
}

/* The task-clock too: the same time, as the scheduler has it. */
static void add_stand_ins(struct tally *const *tallies, bool has_clock, const struct rusage *usage)
{
	if (!has_clock)
		add(tallies, SOFTWARE_TASK_CLOCK,
		    (seconds(&usage->ru_utime) + seconds(&usage->ru_stime)) * 1e9);
	add(tallies, SOFTWARE_PAGE_FAULTS, (double)(usage->ru_minflt + usage->ru_majflt));
	add(tallies, SOFTWARE_MINOR_FAULTS, (double)usage->ru_minflt);
	add(tallies, SOFTWARE_MAJOR_FAULTS, (double)usage->ru_majflt);
	add(tallies, SOFTWARE_CONTEXT_SWITCHES, (double)(usage->ru_nvcsw + usage->ru_nivcsw));
}

void software_read(struct software *software)
{
	struct group_counts counts;

	if (software->group.nr && !group_read(&software->group, &counts))
		software->counts = counts;
}

void software_mark(struct software *software)
{
	software->before = software->counts;
}

bool software_since_mark(const struct software *software, enum software_event event,
			 struct reading *reading)
{
	if ((size_t)event >= software->group.nr)
		return false;
	*reading = reading_of(
		(double)(software->counts.values[event] - software->before.values[event]));
	return true;
}

void software_close(struct software *software, const struct rusage *usage,
		    struct tally *const *tallies)
{
	software_read(software);
	for (size_t i = 0; i < software->group.nr; i++)
		add(tallies, (enum software_event)i, (double)software->counts.values[i]);
	software->no_usage = !usage;
	if (usage && software->group.nr < NR_PERF)
		add_stand_ins(tallies, software->group.nr > 0, usage);
	if (usage)
		add_usage(tallies, usage);
	group_close(&software->group);
}

static char *reason_of(const struct software *software, enum software_event event, bool counted)
{
	if (software->no_usage && event > SOFTWARE_CPU_MIGRATIONS)
		return xstrdup(no_usage);
	if (software->by_perf || event > SOFTWARE_CPU_MIGRATIONS)
		return NULL;
	if (!counted)
		return xstrdup(software->why_not);
	if (event == SOFTWARE_TASK_CLOCK && software->has_clock)
		return NULL;
	return xasprintf("by getrusage: %s", software->why_not);
}

void software_describe(enum software_event event, struct stat_event *result)
{
	*result = (struct stat_event){ .name = names[event].name, .unit = names[event].unit };
}

void software_result(const struct software *software, enum software_event event,
		     const struct tally *tally, struct stat_event *result)
{
	tally_result(tally, result);
	if (!result->value.nr)
		result->status = software->no_usage && event > SOFTWARE_CPU_MIGRATIONS
					 ? PROFILE_NOT_SUPPORTED
					 : software->refused;
	result->reason = reason_of(software, event, result->value.nr);
}

int software_find(const struct event_type *type)
{
	for (int i = 0; i < NR_PERF; i++) {
		if (!strcmp(type->name, names[i].name))
			return i;
	}
	return -1;
}

void software_release(struct software *software)
{
	group_close(&software->group);
	free(software->why_not);
}
