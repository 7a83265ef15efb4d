/* SPDX-License-Identifier: MIT */
#include "report/analyze/unsampled.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define MATERIAL_SHARE 0.2
#define MATERIAL_SAMPLES 20
#define MANY_THREADS 10
#define WHOLE_COVERAGE 0.99

/* What the samples are of, and of which threads. */
struct sampled {
	double weight;
	uint64_t samples;
	bool *has_any; /* by thread */
};

static void add_up(struct sampled *sampled, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_totals; i++) {
		const struct profile_total *total = &profile->totals[i];

		if (total->event != 0)
			continue;
		sampled->weight += (double)total->weight;
		sampled->samples += total->samples;
		sampled->has_any[total->thread] = true;
	}
}

/* One that counts what is not sampled (cpu-clock:u) is none of them, nor what is sampled by process. */
static bool is_period_of_threads(const struct profile_event *event)
{
	return event->status == PROFILE_COUNTED && event->coverage >= WHOLE_COVERAGE &&
	       event->name && !strchr(event->name, ':') && strcmp(event->name, "cpu-time") != 0;
}

/* Samples that are missing for other reasons tell nothing of this one. */
static bool is_told(const struct profile *profile)
{
	for (size_t i = 0; i < profile->nr_quality; i++) {
		const struct profile_quality *row = &profile->quality[i];

		if (row->kind == PROFILE_THROTTLED || row->kind == PROFILE_INTERRUPTED ||
		    row->kind == PROFILE_UNSAMPLED ||
		    (row->kind == PROFILE_LOST && row->detail &&
		     !strcmp(row->detail, PROFILE_LOST_SAMPLES)))
			return false;
	}
	return profile->run.cpu_on && profile->run.complete && !profile->run.user_only &&
	       profile->nr_events > 0 && is_period_of_threads(&profile->events[0]);
}

static bool is_clock(const struct profile_event *event)
{
	return profile_unit_is_time(event->unit);
}

/* Up to a first sample; 0: not known. */
static double period(const struct profile_event *event, const struct sampled *sampled)
{
	if (event->period)
		return (double)event->period;
	if (is_clock(event) && event->frequency_hz)
		return 1e9 / event->frequency_hz;
	return sampled->samples ? sampled->weight / (double)sampled->samples : 0;
}

static void compare(struct unsampled *unsampled, const struct profile *profile,
		    const struct sampled *sampled)
{
	const struct profile_event *event = profile->events;
	double each = period(event, sampled), value = event->value - sampled->weight;
	bool late = value > each * (double)profile->nr_threads;

	/* What a PMU counts until an interrupt comes is all in its sample. */
	if (each <= 0 || value <= 0 || (late && !is_clock(event)))
		return;
	*unsampled = (struct unsampled){ .period = each,
					 .samples = value / each,
					 .share = value / event->value,
					 .late = late,
					 .nr_threads = profile->nr_threads };
	for (size_t i = 0; i < profile->nr_threads; i++)
		unsampled->nr_silent += !sampled->has_any[i];
}

void unsampled_find(struct unsampled *unsampled, const struct profile *profile)
{
	struct sampled sampled = { 0 };

	*unsampled = (struct unsampled){ 0 };
	if (!is_told(profile))
		return;
	sampled.has_any = xcalloc(profile->nr_threads + 1, sizeof(sampled.has_any[0]));
	add_up(&sampled, profile);
	compare(unsampled, profile, &sampled);
	free(sampled.has_any);
}

bool unsampled_is_material(const struct unsampled *unsampled)
{
	return unsampled->share >= MATERIAL_SHARE && unsampled->samples >= MATERIAL_SAMPLES &&
	       (unsampled->late || unsampled->nr_threads >= MANY_THREADS);
}
