/* SPDX-License-Identifier: MIT */
#include "record/stop_counters.h"

#include <string.h>

static void put_leader(const struct stop_counters *counters, uint64_t sampled_ns)
{
	const struct event_type *type = event_type_find("cpu-time");

	aggregate_event(
		counters->aggregate,
		&(struct profile_event){
			.id = 0,
			.name = type->name,
			.unit = type->unit,
			.substituted_for = counters->refused ? counters->asked->at[0].name : NULL,
			.reason = counters->reason,
			.status = PROFILE_COUNTED,
			.value = (double)sampled_ns,
			.coverage = 1,
			.frequency_hz = counters->frequency_hz,
		});
}

static void put_missing(const struct stop_counters *counters, uint32_t id,
			const struct event_type *type)
{
	const char *refused = counters->refused;

	aggregate_event(
		counters->aggregate,
		&(struct profile_event){ .id = id,
					 .name = type->name,
					 .unit = type->unit,
					 .reason = refused ? refused : "not beside cpu-time",
					 .status = refused ? PROFILE_NOT_PERMITTED
							   : PROFILE_NOT_SUPPORTED });
}

/* cpu-time has its place already, wherever it was asked for. */
void stop_counters_put(const struct stop_counters *counters, uint64_t sampled_ns)
{
	uint32_t id = 1;

	put_leader(counters, sampled_ns);
	for (size_t i = 0; i < counters->asked->nr; i++)
		if (!event_type_is_stops(&counters->asked->at[i]))
			put_missing(counters, id++, &counters->asked->at[i]);
}

/* Where it was asked for, or behind all others. */
static uint32_t id_of(const struct event_types *asked, const struct event_type *type)
{
	uint32_t id = 1;

	for (size_t i = 0; i < asked->nr && strcmp(asked->at[i].name, type->name) != 0; i++)
		id += !event_type_is_stops(&asked->at[i]);
	return id;
}

void stop_counters_put_used(const struct stop_counters *counters, uint64_t used_ns)
{
	const struct event_type *clock = event_type_find("task-clock");

	aggregate_event(counters->aggregate,
			&(struct profile_event){ .id = id_of(counters->asked, clock),
						 .name = clock->name,
						 .unit = clock->unit,
						 .reason = "by getrusage",
						 .status = PROFILE_COUNTED,
						 .value = (double)used_ns,
						 .coverage = 1 });
}
