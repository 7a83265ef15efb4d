/* SPDX-License-Identifier: MIT */
#include "record/counters.h"

#include <string.h>

static void put_sampled(const struct counters *counters, uint32_t id,
			const struct ladder_event *event)
{
	const struct sampling *sampling = counters->sampling;
	struct events_count count;

	events_count(counters->events, id, &count);
	aggregate_event(counters->aggregate,
			&(struct profile_event){
				.id = id,
				.name = event->type->name,
				.unit = event->type->unit,
				.substituted_for = event->substituted_for,
				.reason = event->reason,
				.status = profile_status_of(count.coverage),
				.value = count.value,
				.coverage = count.coverage,
				.frequency_hz = sampling->period
							? 0
							: sampling_rate_hz(event->type, sampling),
				.period = sampling_period(event->type, sampling),
				.precise = id == 0 ? counters->ladder->limits.precise : 0,
			});
}

static void put_refused(const struct counters *counters, uint32_t id,
			const struct ladder_event *event)
{
	aggregate_event(counters->aggregate, &(struct profile_event){
						     .id = id,
						     .name = event->type->name,
						     .unit = event->type->unit,
						     .reason = event->reason,
						     .status = event->state == LADDER_NOT_PERMITTED
								       ? PROFILE_NOT_PERMITTED
								       : PROFILE_NOT_SUPPORTED,
					     });
}

/* The program's time on CPUs is counted beside the group, unless it is in there already. */
static void put_task_clock(const struct counters *counters, uint32_t id)
{
	const struct event_type *clock = event_type_find("task-clock");
	struct events_count count;

	for (size_t i = 0; i < counters->ladder->nr; i++)
		if (!strcmp(counters->ladder->events[i].type->name, clock->name))
			return;
	events_count(counters->events, counters->events->nr_events, &count);
	aggregate_event(counters->aggregate, &(struct profile_event){ .id = id,
								      .name = clock->name,
								      .unit = clock->unit,
								      .status = PROFILE_COUNTED,
								      .value = count.value,
								      .coverage = 1 });
}

void counters_put(const struct counters *counters)
{
	const struct ladder *ladder = counters->ladder;

	for (uint32_t i = 0; i < ladder->nr; i++) {
		if (ladder->events[i].state == LADDER_SAMPLED)
			put_sampled(counters, i, &ladder->events[i]);
		else
			put_refused(counters, i, &ladder->events[i]);
	}
	put_task_clock(counters, (uint32_t)ladder->nr);
}
