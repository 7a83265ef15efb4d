/* SPDX-License-Identifier: MIT */
#include "stat/tally.h"

#include <math.h>

double reading_coverage(const struct reading *reading)
{
	if (reading->enabled_ns <= 0)
		return reading->running_ns > 0 || reading->count > 0;
	return fmin(reading->running_ns / reading->enabled_ns, 1);
}

static void add_ratio(double *part, double *whole, double count, double of)
{
	if (isnan(of))
		return;
	*part += count;
	*whole += of;
}

void tally_add(struct tally *tally, const struct reading *reading)
{
	double coverage = reading_coverage(reading);
	enum profile_status status = profile_status_of(coverage);

	stats_add(&tally->coverage, coverage);
	if (status > tally->status)
		tally->status = status;
	if (status == PROFILE_NOT_COUNTED)
		return;
	stats_add(&tally->value, reading->count / coverage);
	add_ratio(&tally->per_instruction.part, &tally->per_instruction.whole, reading->count,
		  reading->instructions);
	add_ratio(&tally->to_partner.part, &tally->to_partner.whole, reading->count,
		  reading->partner);
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

void tally_result(const struct tally *tally, struct stat_event *event)
{
	event->value = tally->value;
	event->status = tally->status;
	/* Of several runs some may have counted: then the mean is of those, and said so. */
	if (event->status == PROFILE_NOT_COUNTED && event->value.nr)
		event->status = PROFILE_SCALED;
	event->coverage = stats_mean(&tally->coverage);
	event->per_1k_instructions =
		1000 * ratio(tally->per_instruction.part, tally->per_instruction.whole);
	event->ratio = ratio(tally->to_partner.part, tally->to_partner.whole);
}
