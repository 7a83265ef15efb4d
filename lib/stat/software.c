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

static const char no_usage[] = "getrusage tells it of programs that cprof started when they have "
			       "ended, and /proc of others until then";
static const char from_proc[] = "from /proc/PID/stat, in ticks of the kernel's clock";
static const char peak_from_proc[] = "from /proc/PID/status, since the process started";
static const char not_in_proc[] = "/proc has it of living threads only";

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

static void add_usage(struct tally *const *tallies, const struct usage *usage)
{
	add(tallies, SOFTWARE_USER_TIME, usage->user_s);
	add(tallies, SOFTWARE_SYSTEM_TIME, usage->system_s);
	add(tallies, SOFTWARE_MAX_RSS, usage->max_rss_bytes);
}

/* The task-clock too: the same time, as the scheduler has it. */
static void add_stand_ins(struct tally *const *tallies, bool has_clock, const struct usage *usage)
{
	if (!has_clock)
		add(tallies, SOFTWARE_TASK_CLOCK, (usage->user_s + usage->system_s) * 1e9);
	add(tallies, SOFTWARE_PAGE_FAULTS, usage->minor_faults + usage->major_faults);
	add(tallies, SOFTWARE_MINOR_FAULTS, usage->minor_faults);
	add(tallies, SOFTWARE_MAJOR_FAULTS, usage->major_faults);
	if (!isnan(usage->switches))
		add(tallies, SOFTWARE_CONTEXT_SWITCHES, usage->switches);
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

void software_close(struct software *software, const struct usage *usage,
		    struct tally *const *tallies)
{
	software_read(software);
	for (size_t i = 0; i < software->group.nr; i++)
		add(tallies, (enum software_event)i, (double)software->counts.values[i]);
	software->no_usage = !usage;
	software->from_proc = usage && usage->is_from_proc;
	if (usage && software->group.nr < NR_PERF)
		add_stand_ins(tallies, software->group.nr > 0, usage);
	if (usage)
		add_usage(tallies, usage);
	group_close(&software->group);
}

/* Of what perf does not count at all. */
static char *reason_of_usage(const struct software *software, enum software_event event)
{
	if (software->no_usage)
		return xstrdup(no_usage);
	if (!software->from_proc)
		return NULL;
	return xstrdup(event == SOFTWARE_MAX_RSS ? peak_from_proc : from_proc);
}

static char *reason_of(const struct software *software, enum software_event event, bool counted)
{
	if (event > SOFTWARE_CPU_MIGRATIONS)
		return reason_of_usage(software, event);
	if (software->by_perf)
		return NULL;
	if (!counted && software->from_proc && event == SOFTWARE_CONTEXT_SWITCHES)
		return xasprintf("%s: %s", not_in_proc, software->why_not);
	if (!counted)
		return xstrdup(software->why_not);
	if (event == SOFTWARE_TASK_CLOCK && software->has_clock)
		return NULL;
	return xasprintf("%s: %s", software->from_proc ? from_proc : "by getrusage",
			 software->why_not);
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
