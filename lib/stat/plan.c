/* SPDX-License-Identifier: MIT */
#include "stat/plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "record/stops/calm.h"

enum {
	ATTACH_TRIES = 20,
	ENABLE_AGAIN_US = 2000,
};

static const char full_list[] =
	"cycles,instructions,branches,branch-misses,cache-references,cache-misses,"
	"stalled-cycles-frontend,stalled-cycles-backend,L1-dcache-loads,L1-dcache-load-misses,"
	"LLC-loads,LLC-load-misses,dTLB-loads,dTLB-load-misses";

static int check(const struct event_types *types, struct error *err)
{
	vec_each(types, type)
	{
		if (!event_type_is_stops(type))
			continue;
		error_set(err, ERR_USAGE, "%s can be sampled, but not counted", type->name);
		return error_hint(err, "task-clock is the same time, counted");
	}
	return 0;
}

static int parse(struct event_types *types, const char *list, bool full_pmu, struct error *err)
{
	int ret;

	if (list && full_pmu)
		return error_set(err, ERR_USAGE, "--pmu is a list of events itself: not with -e");
	ret = event_types_parse(types,
				list	   ? list
				: full_pmu ? full_list
					   : event_types_default,
				err);
	return ret < 0 ? ret : check(types, err);
}

/* The kernel's own counts have a group of theirs, which never waits; all else is a counter. */
static void divide(struct stat_plan *plan, bool *is_asked_for)
{
	vec_each(&plan->types, type)
	{
		int software = software_find(type);

		if (software >= 0)
			is_asked_for[software] = true;
		else
			vec_push(&plan->counted, *type);
	}
}

static void put_in_order(struct stat_plan *plan, const bool *is_asked_for)
{
	size_t counter = 0;

	plan->order = xcalloc(plan->types.nr + SOFTWARE_NR, sizeof(plan->order[0]));
	vec_each(&plan->types, type)
	{
		int software = software_find(type);

		plan->order[plan->nr++] =
			software < 0 ? counter++ : plan->counted.nr + (size_t)software;
	}
	for (size_t i = 0; i < SOFTWARE_NR; i++) {
		if (!is_asked_for[i])
			plan->order[plan->nr++] = plan->counted.nr + i;
	}
}

int stat_plan_make(struct stat_plan **result, const char *list, bool full_pmu, struct error *err)
{
	struct stat_plan *plan = xcalloc(1, sizeof(*plan));
	bool is_asked_for[SOFTWARE_NR] = { false };
	int ret = parse(&plan->types, list, full_pmu, err);

	*result = plan;
	access_read(&plan->access);
	if (ret < 0)
		return ret;
	divide(plan, is_asked_for);
	ret = counters_plan(&plan->counters, &plan->counted, &plan->access, err);
	if (ret < 0)
		return ret;
	software_plan(&plan->software, &plan->access);
	put_in_order(plan, is_asked_for);
	return 0;
}

void stat_plan_open(struct stat_plan *plan, const struct group_threads *threads)
{
	software_open(&plan->software, threads);
	counters_open(&plan->counters, threads);
}

void stat_plan_discard(struct stat_plan *plan)
{
	counters_close(&plan->counters);
	group_close(&plan->software.group);
}

static int open_threads(void *context, const struct attach_threads *threads, struct error *err)
{
	(void)err;
	stat_plan_open(context, &(struct group_threads){ threads->at, threads->nr, GROUP_STOPPED });
	return 0;
}

static void discard(void *context)
{
	stat_plan_discard(context);
}

static void enable(void *context)
{
	struct stat_plan *plan = context;

	software_enable(&plan->software);
	counters_enable(&plan->counters);
}

static int refuse_disturbed(const struct error *why, struct error *err)
{
	error_set(err, -EAGAIN,
		  "a process starts threads faster than these can be opened, and cannot be "
		  "halted for it: %s",
		  why->message);
	return error_hint(err, "`cprof stat PROG` counts all threads from the start on");
}

/* A thread that is just being started may copy its events as they were and only then become known
 * as an heir: it, and all that it starts, would stay without.  So they are enabled twice. */
int stat_plan_attach(struct stat_plan *plan, const struct attach *attach, struct error *err)
{
	const struct calm calm = { .attach = attach,
				   .tries = ATTACH_TRIES,
				   .halt_most_ns = UINT64_MAX,
				   .context = plan,
				   .open = open_threads,
				   .opened = enable,
				   .close = discard };
	struct error why = ERROR_INIT;

	if (!plan->software.has_clock) /* perf is refused: /proc counts them all */
		return 0;
	if (!calm_open(&calm, &why, err))
		return refuse_disturbed(&why, err);
	usleep(ENABLE_AGAIN_US);
	enable(plan);
	return 0;
}

/* The counter in that place, or -1 and in *software what it is instead. */
static ssize_t counter_at(const struct stat_plan *plan, size_t i, enum software_event *software)
{
	*software = SOFTWARE_NR;
	if (plan->order[i] < plan->counted.nr)
		return (ssize_t)plan->order[i];
	*software = (enum software_event)(plan->order[i] - plan->counted.nr);
	return -1;
}

void stat_plan_close(struct stat_plan *plan, const struct usage *usage, struct tally *tallies)
{
	struct tally *software_tallies[SOFTWARE_NR];
	enum software_event software;
	struct reading reading;

	counters_read(&plan->counters);
	for (size_t i = 0; i < plan->nr; i++) {
		ssize_t counter = counter_at(plan, i, &software);

		if (counter < 0)
			software_tallies[software] = &tallies[i];
		else if (counters_since_start(&plan->counters, (size_t)counter, &reading))
			tally_add(&tallies[i], &reading);
	}
	software_close(&plan->software, usage, software_tallies);
	counters_close(&plan->counters);
}

/* Where the program did not run at all, nothing happened, and all of that was counted. */
static struct stat_count count_of(const struct reading *reading)
{
	double coverage = reading_coverage(reading);

	if (!reading->enabled_ns && !reading->count)
		coverage = 1;
	return (struct stat_count){ coverage > 0 ? reading->count / coverage : NAN, coverage };
}

void stat_plan_interval(struct stat_plan *plan, struct stat_count *counts)
{
	enum software_event software;
	struct reading reading;

	counters_read(&plan->counters);
	software_read(&plan->software);
	for (size_t i = 0; i < plan->nr; i++) {
		ssize_t counter = counter_at(plan, i, &software);
		bool known = counter < 0 ? software_since_mark(&plan->software, software, &reading)
					 : counters_since_mark(&plan->counters, (size_t)counter,
							       &reading);

		counts[i] = known ? count_of(&reading) : (struct stat_count){ NAN, 0 };
	}
	counters_mark(&plan->counters);
	software_mark(&plan->software);
}

void stat_plan_describe(const struct stat_plan *plan, size_t i, struct stat_event *event)
{
	enum software_event software;
	ssize_t counter = counter_at(plan, i, &software);

	if (counter < 0)
		software_describe(software, event);
	else
		counters_describe(&plan->counters, (size_t)counter, event);
}

void stat_plan_result(const struct stat_plan *plan, size_t i, const struct tally *tally,
		      struct stat_event *event)
{
	enum software_event software;
	ssize_t counter = counter_at(plan, i, &software);

	if (counter < 0)
		software_result(&plan->software, software, tally, event);
	else
		counters_result(&plan->counters, (size_t)counter, tally, event);
}

void stat_plan_free(struct stat_plan *plan)
{
	if (!plan)
		return;
	counters_release(&plan->counters);
	software_release(&plan->software);
	vec_free(&plan->counted);
	event_types_release(&plan->types);
	free(plan->order);
	free(plan);
}
