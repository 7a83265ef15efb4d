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

static double value_at(const struct group_counts *counts, size_t place)
{
	return place == NONE ? NAN : (double)counts->values[place];
}

static bool is_anchor_again(const struct hardware *hardware, size_t group, size_t event)
{
	return group > 0 && hardware->events[event].set == 0;
}

static void add_group(struct hardware *hardware, size_t group, const struct group_counts *counts)
{
	const struct grouping_set *set = &hardware->groups.at[group];
	size_t instructions = place_of(hardware, set, "instructions");

	for (size_t i = 0; i < set->nr; i++) {
		struct hardware_event *event = &hardware->events[set->events[i]];
		struct reading reading = {
			.count = (double)counts->values[i],
			.enabled_ns = (double)counts->enabled_ns,
			.running_ns = (double)counts->running_ns,
			.instructions = value_at(counts, instructions),
			.partner = value_at(counts, place_of(hardware, set, event->partner)),
		};

		if (!is_anchor_again(hardware, group, set->events[i]))
			tally_add(&event->tally, &reading);
	}
}

void hardware_close(struct hardware *hardware)
{
	for (size_t i = 0; i < hardware->groups.nr; i++) {
		struct group_counts counts;

		if (hardware->open[i].nr && !group_read(&hardware->open[i], &counts))
			add_group(hardware, i, &counts);
		group_close(&hardware->open[i]);
	}
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
}
