/* SPDX-License-Identifier: MIT */
#include "stat/hardware.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "stat/reason.h"

#define NONE SIZE_MAX

static const struct {
	const char *name;
	unsigned int set;
	bool full_only;
	const char *partner;
} wanted[] = {
	{ "cycles", 0, false, NULL },
	{ "instructions", 0, false, "cycles" },
	{ "branches", 1, true, NULL },
	{ "branch-misses", 1, false, "branches" },
	{ "cache-references", 2, true, NULL },
	{ "cache-misses", 2, false, "cache-references" },
	{ "stalled-cycles-frontend", 3, true, "cycles" },
	{ "stalled-cycles-backend", 3, true, "cycles" },
	{ "L1-dcache-loads", 4, true, NULL },
	{ "L1-dcache-load-misses", 4, true, "L1-dcache-loads" },
	{ "LLC-loads", 5, true, NULL },
	{ "LLC-load-misses", 5, true, "LLC-loads" },
	{ "dTLB-loads", 6, true, NULL },
	{ "dTLB-load-misses", 6, true, "dTLB-loads" },
};
enum { NR_SETS = 7 };

_Static_assert(ARRAY_SIZE(wanted) == HARDWARE_MAX_EVENTS, "room for all events");

static int try_alone(const struct event_type *type, bool user_only)
{
	struct group group;
	int ret = group_open(&group, &type, 1, 0, GROUP_STOPPED, user_only);

	group_close(&group);
	return ret;
}

static void try_event(struct hardware *hardware, struct hardware_event *event)
{
	int ret = try_alone(event->type, hardware->user_only);

	if (ret == -EACCES && !hardware->user_only) {
		ret = try_alone(event->type, true);
		hardware->user_only = !ret;
	}
	if (ret < 0)
		event->reason = reason_refused(hardware->access, -ret, event->type, &event->status);
}

static size_t types_of(const struct hardware *hardware, const struct grouping_set *set,
		       const struct event_type **types)
{
	for (size_t i = 0; i < set->nr; i++)
		types[i] = hardware->events[set->events[i]].type;
	return set->nr;
}

static bool fits(void *context, const struct grouping_set *set)
{
	const struct hardware *hardware = context;
	const struct event_type *types[GROUPING_MAX_MEMBERS];

	return group_schedulable(types, types_of(hardware, set, types), hardware->user_only);
}

static void make_groups(struct hardware *hardware)
{
	struct grouping_set sets[NR_SETS] = { 0 };

	for (size_t i = 0; i < hardware->nr; i++) {
		struct grouping_set *set = &sets[hardware->events[i].set];

		if (!hardware->events[i].reason)
			set->events[set->nr++] = i;
	}
	grouping_make(&hardware->groups, &sets[0], sets + 1, NR_SETS - 1, fits, hardware);
	hardware->open = xcalloc(hardware->groups.nr, sizeof(hardware->open[0]));
	hardware->counts = xcalloc(hardware->groups.nr, sizeof(hardware->counts[0]));
}

void hardware_plan(struct hardware *hardware, bool full, const struct access *access)
{
	*hardware = (struct hardware){ .access = access };
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct hardware_event *event = &hardware->events[hardware->nr];

		if (wanted[i].full_only && !full)
			continue;
		event->type = event_type_find(wanted[i].name);
		event->set = wanted[i].set;
		event->partner = wanted[i].partner;
		try_event(hardware, event);
		hardware->nr++;
	}
	make_groups(hardware);
	log_debug(LOG_STAT, "%zu hardware events, %zu groups%s", hardware->nr, hardware->groups.nr,
		  hardware->user_only ? ", user code only" : "");
}

static void refuse(struct hardware *hardware, const struct grouping_set *set, int errno_value)
{
	for (size_t i = 0; i < set->nr; i++) {
		struct hardware_event *event = &hardware->events[set->events[i]];

		if (!event->reason)
			event->reason = reason_refused(hardware->access, errno_value, event->type,
						       &event->status);
	}
}

void hardware_open(struct hardware *hardware, pid_t pid)
{
	for (size_t i = 0; i < hardware->groups.nr; i++) {
		const struct grouping_set *set = &hardware->groups.at[i];
		const struct event_type *types[GROUPING_MAX_MEMBERS];
		int ret = group_open(&hardware->open[i], types, types_of(hardware, set, types), pid,
				     GROUP_FROM_EXEC, hardware->user_only);

		if (ret < 0)
			refuse(hardware, set, -ret);
	}
}

/* The place of the event with that name in the set, or NONE. */
static size_t place_of(const struct hardware *hardware, const struct grouping_set *set,
		       const char *name)
{
	for (size_t i = 0; name && i < set->nr; i++) {
		if (!strcmp(hardware->events[set->events[i]].type->name, name))
			return i;
	}
	return NONE;
}

/* Adds a member's count; what no group has together with the event stays NaN. */
static void add_member(double *sum, const struct group_counts *counts, size_t place)
{
	if (place != NONE)
		*sum = (isnan(*sum) ? 0 : *sum) + (double)counts->values[place];
}

/*
 * Groups that take turns never count at the same time, or they would be one: what is in each of
 * them, cycles and instructions, is seen for the sum of their times.
 */
static void add_group(struct reading *reading, const struct hardware *hardware, size_t group,
		      const struct hardware_event *event)
{
	const struct grouping_set *set = &hardware->groups.at[group];
	const struct group_counts *counts = &hardware->counts[group];
	size_t place = place_of(hardware, set, event->type->name);

	if (place == NONE || !counts->enabled_ns)
		return;
	reading->count += (double)counts->values[place];
	reading->enabled_ns = fmax(reading->enabled_ns, (double)counts->enabled_ns);
	reading->running_ns += (double)counts->running_ns;
	add_member(&reading->instructions, counts, place_of(hardware, set, "instructions"));
	add_member(&reading->partner, counts, place_of(hardware, set, event->partner));
}

static void add_event(struct hardware *hardware, struct hardware_event *event)
{
	struct reading reading = { .instructions = NAN, .partner = NAN };

	if (event->reason)
		return;
	for (size_t i = 0; i < hardware->groups.nr; i++)
		add_group(&reading, hardware, i, event);
	tally_add(&event->tally, &reading);
}

static void read_group(struct group *group, struct group_counts *counts)
{
	*counts = (struct group_counts){ 0 };
	if (group->nr && group_read(group, counts) < 0)
		*counts = (struct group_counts){ 0 };
	group_close(group);
}

void hardware_close(struct hardware *hardware)
{
	for (size_t i = 0; i < hardware->groups.nr; i++)
		read_group(&hardware->open[i], &hardware->counts[i]);
	for (size_t i = 0; i < hardware->nr; i++)
		add_event(hardware, &hardware->events[i]);
}

static void event_result(struct hardware_event *event, struct stat_event *result)
{
	*result = (struct stat_event){
		.name = event->type->name,
		.unit = event->type->unit,
		.ratio_of = event->partner,
	};
	tally_result(&event->tally, result);
	if (!event->reason && !result->value.nr) {
		result->status = PROFILE_NOT_COUNTED;
		event->reason = reason_never_scheduled();
	}
	if (event->reason && !result->value.nr)
		result->status = event->status ? event->status : PROFILE_NOT_COUNTED;
	result->reason = event->reason;
	event->reason = NULL;
}

void hardware_result(struct hardware *hardware, struct stat_event *events)
{
	for (size_t i = 0; i < hardware->nr; i++)
		event_result(&hardware->events[i], &events[i]);
}

void hardware_release(struct hardware *hardware)
{
	for (size_t i = 0; i < hardware->nr; i++)
		free(hardware->events[i].reason);
	for (size_t i = 0; i < hardware->groups.nr; i++)
		group_close(&hardware->open[i]);
	grouping_release(&hardware->groups);
	free(hardware->open);
	free(hardware->counts);
}
