/* SPDX-License-Identifier: MIT */
#include "stat/counters.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "stat/partner.h"
#include "stat/reason.h"
#include "stat/trial.h"

#define NONE SIZE_MAX

static size_t types_of(const struct counters *counters, const struct grouping_set *set,
		       const struct event_type **types)
{
	for (size_t i = 0; i < set->nr; i++)
		types[i] = counters->at[set->events[i]].type;
	return set->nr;
}

static bool fits(void *context, const struct grouping_set *set)
{
	const struct counters *counters = context;
	const struct event_type *types[GROUPING_MAX_MEMBERS];

	return group_schedulable(types, types_of(counters, set, types), counters->user_only);
}

/* Where an event is of those that are planned; NONE. */
static size_t find(const struct counters *counters, const char *name)
{
	for (size_t i = 0; name && i < counters->nr; i++) {
		if (!strcmp(counters->at[i].type->name, name))
			return i;
	}
	return NONE;
}

/* Cycles and instructions, unless they were asked for in a group: set 0. */
static bool is_anchor(const struct event_type *type)
{
	return !type->group &&
	       (!strcmp(type->name, "cycles") || !strcmp(type->name, "instructions"));
}

/* The number of the set of an event: 0, one for each group in braces, one for each event else. */
static size_t set_of(const struct counters *counters, size_t i)
{
	const struct event_type *type = counters->at[i].type;
	size_t partner = find(counters, counters->at[i].partner);

	if (is_anchor(type))
		return 0;
	if (type->group)
		return counters->nr + type->group;
	if (partner == NONE || is_anchor(counters->at[partner].type) ||
	    counters->at[partner].type->group)
		return 1 + i;
	return 1 + partner;
}

/* Sets are numbered 0, 1..nr by an event of theirs, nr+1.. by their group. */
static size_t nr_sets(const struct counters *counters)
{
	return 2 * counters->nr + 1;
}

static void add_to_set(struct grouping_set *set, size_t event, bool whole)
{
	set->whole = whole;
	set->events[set->nr++] = event;
}

static void make_groups(struct counters *counters)
{
	struct grouping_set *sets = xcalloc(nr_sets(counters), sizeof(*sets));

	for (size_t i = 0; i < counters->nr; i++) {
		if (!counters->at[i].reason)
			add_to_set(&sets[set_of(counters, i)], i, counters->at[i].type->group);
	}
	grouping_make(&counters->groups, &sets[0], sets + 1, nr_sets(counters) - 1, fits, counters);
	free(sets);
	counters->open = xcalloc(counters->groups.nr, sizeof(counters->open[0]));
	counters->counts = xcalloc(counters->groups.nr, sizeof(counters->counts[0]));
	counters->before = xcalloc(counters->groups.nr, sizeof(counters->before[0]));
}

static void plan_event(struct counters *counters, const struct event_type *type)
{
	struct counter *counter = &counters->at[counters->nr++];

	*counter = (struct counter){
		.type = type,
		.partner = partner_of(type->name),
		.instructions = partner_instructions(type->name),
	};
	trial_of_event(type, counters->access, &counters->user_only, &counter->status,
		       &counter->reason);
}

bool counters_are_user_only(const struct counters *counters)
{
	for (size_t i = 0; counters->user_only && i < counters->nr; i++) {
		if (!counters->at[i].reason && !event_type_is_software(counters->at[i].type))
			return true;
	}
	return false;
}

static int check_groups(const struct event_types *types, struct error *err)
{
	for (size_t i = 0; i < types->nr; i++) {
		unsigned int group = types->at[i].group;
		size_t members = 0;

		for (size_t j = 0; group && j < types->nr; j++)
			members += types->at[j].group == group;
		if (members > GROUPING_MAX_MEMBERS)
			return error_set(err, ERR_USAGE, "%zu events in a group, at most %d can be",
					 members, GROUPING_MAX_MEMBERS);
	}
	return 0;
}

int counters_plan(struct counters *counters, const struct event_types *types,
		  const struct access *access, struct error *err)
{
	int ret = check_groups(types, err);

	*counters = (struct counters){ .access = access };
	if (ret < 0)
		return ret;
	counters->at = xcalloc(types->nr, sizeof(counters->at[0]));
	for (size_t i = 0; i < types->nr; i++)
		plan_event(counters, &types->at[i]);
	make_groups(counters);
	log_debug(LOG_STAT, "%zu events, %zu groups%s", counters->nr, counters->groups.nr,
		  counters->user_only ? ", user code only" : "");
	return 0;
}

static void refuse(struct counters *counters, const struct grouping_set *set, int errno_value)
{
	for (size_t i = 0; i < set->nr; i++) {
		struct counter *counter = &counters->at[set->events[i]];

		if (counter->reason)
			continue;
		if (set->whole && set->nr > 1)
			counter->reason = reason_group_too_large(&counter->status);
		else
			counter->reason = reason_refused(counters->access, errno_value,
							 counter->type, &counter->status);
	}
}

void counters_open(struct counters *counters, const struct group_threads *threads)
{
	for (size_t i = 0; i < counters->groups.nr; i++) {
		const struct grouping_set *set = &counters->groups.at[i];
		const struct event_type *types[GROUPING_MAX_MEMBERS];
		int ret = group_open(&counters->open[i], types, types_of(counters, set, types),
				     threads, counters->user_only);

		if (ret < 0 && ret != -ESRCH)
			refuse(counters, set, -ret);
		counters->counts[i] = counters->before[i] = (struct group_counts){ 0 };
	}
}

void counters_enable(struct counters *counters)
{
	for (size_t i = 0; i < counters->groups.nr; i++)
		group_enable(&counters->open[i]);
}

void counters_read(struct counters *counters)
{
	for (size_t i = 0; i < counters->groups.nr; i++) {
		struct group_counts counts;

		if (counters->open[i].nr && !group_read(&counters->open[i], &counts))
			counters->counts[i] = counts;
	}
}

void counters_mark(struct counters *counters)
{
	if (counters->groups.nr)
		memcpy(counters->before, counters->counts,
		       counters->groups.nr * sizeof(counters->counts[0]));
}

void counters_close(struct counters *counters)
{
	for (size_t i = 0; i < counters->groups.nr; i++)
		group_close(&counters->open[i]);
}

/* The place of the event with that name in the set, or NONE. */
static size_t place_of(const struct counters *counters, const struct grouping_set *set,
		       const char *name)
{
	for (size_t i = 0; name && i < set->nr; i++) {
		if (!strcmp(counters->at[set->events[i]].type->name, name))
			return i;
	}
	return NONE;
}

static double value_of(const struct event_type *type, uint64_t count)
{
	return (double)count * (type->scale ? type->scale : 1);
}

/* Adds a member's count; what no group has together with the event stays NaN. */
static void add_member(double *sum, const struct group_counts *now,
		       const struct group_counts *before, size_t place)
{
	if (place != NONE)
		*sum = (isnan(*sum) ? 0 : *sum) +
		       (double)(now->values[place] - before->values[place]);
}

/*
 * Groups that take turns never count at the same time, or they would be one: what is in each of
 * them, cycles and instructions, is seen for the sum of their times.
 */
static void add_group(struct reading *reading, const struct counters *counters, size_t group,
		      const struct group_counts *before, const struct counter *counter)
{
	const struct grouping_set *set = &counters->groups.at[group];
	const struct group_counts *now = &counters->counts[group];
	size_t place = place_of(counters, set, counter->type->name);

	if (place == NONE || now->enabled_ns <= before->enabled_ns)
		return;
	reading->count += value_of(counter->type, now->values[place] - before->values[place]);
	reading->enabled_ns =
		fmax(reading->enabled_ns, (double)(now->enabled_ns - before->enabled_ns));
	reading->running_ns += (double)(now->running_ns - before->running_ns);
	add_member(&reading->instructions, now, before,
		   place_of(counters, set, counter->instructions));
	add_member(&reading->partner, now, before, place_of(counters, set, counter->partner));
}

/* Since these counts, or since the start. */
static bool read_event(const struct counters *counters, size_t i, const struct group_counts *since,
		       struct reading *reading)
{
	static const struct group_counts nothing;

	*reading = (struct reading){ .instructions = NAN, .partner = NAN };
	if (counters->at[i].reason)
		return false;
	for (size_t group = 0; group < counters->groups.nr; group++)
		add_group(reading, counters, group, since ? &since[group] : &nothing,
			  &counters->at[i]);
	return true;
}

bool counters_since_start(const struct counters *counters, size_t i, struct reading *reading)
{
	return read_event(counters, i, NULL, reading);
}

bool counters_since_mark(const struct counters *counters, size_t i, struct reading *reading)
{
	return read_event(counters, i, counters->before, reading);
}

void counters_describe(const struct counters *counters, size_t i, struct stat_event *event)
{
	*event = (struct stat_event){
		.name = counters->at[i].type->name,
		.unit = counters->at[i].type->unit,
		.ratio_of = counters->at[i].partner,
	};
}

void counters_result(const struct counters *counters, size_t i, const struct tally *tally,
		     struct stat_event *event)
{
	const struct counter *counter = &counters->at[i];

	tally_result(tally, event);
	if (counter->reason && !event->value.nr)
		event->status = counter->status ? counter->status : PROFILE_NOT_COUNTED;
	if (counter->reason)
		event->reason = xstrdup(counter->reason);
	else if (!event->value.nr)
		event->reason = reason_never_scheduled();
}

void counters_release(struct counters *counters)
{
	for (size_t i = 0; i < counters->nr; i++) {
		free(counters->at[i].partner);
		free(counters->at[i].instructions);
		free(counters->at[i].reason);
	}
	for (size_t i = 0; counters->open && i < counters->groups.nr; i++)
		group_close(&counters->open[i]);
	grouping_release(&counters->groups);
	free(counters->open);
	free(counters->counts);
	free(counters->before);
	free(counters->at);
}
