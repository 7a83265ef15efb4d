/* SPDX-License-Identifier: MIT */
#include "record/events/sampling.h"

#include <string.h>
#include <time.h>

#include "arch/perf_regs.h"

/* Of all events: also behind each record that is not a sample (sample_id_all). */
#define IDENTITY (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

static void common(struct perf_event_attr *attr, const struct event_type *type,
		   const struct sampling *sampling)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = type->type,
		.config = type->config,
		.config1 = type->config1,
		.config2 = type->config2,
		.sample_type = IDENTITY,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.inherit = 1,
		.inherit_thread = sampling->no_inherit,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.watermark = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

uint32_t sampling_rate_hz(const struct event_type *type, const struct sampling *sampling)
{
	uint32_t rate = sampling->frequency_hz;

	if (type->rate_divisor)
		rate /= type->rate_divisor;
	if (event_type_is_clock(type) && rate > SAMPLING_CLOCK_HZ_MAX)
		rate = SAMPLING_CLOCK_HZ_MAX;
	return rate ? rate : 1;
}

uint64_t sampling_period(const struct event_type *type, const struct sampling *sampling)
{
	const uint64_t least_ns = 1000000000 / SAMPLING_CLOCK_HZ_MAX;

	if (event_type_is_clock(type) && sampling->period && sampling->period < least_ns)
		return least_ns;
	return sampling->period;
}

static void set_rate(struct perf_event_attr *attr, const struct event_type *type,
		     const struct sampling *sampling)
{
	attr->sample_type |= PERF_SAMPLE_PERIOD;
	if (!sampling->period) {
		attr->freq = 1;
		attr->sample_freq = sampling_rate_hz(type, sampling);
		return;
	}
	attr->sample_period = sampling_period(type, sampling);
	/* With a fixed period and PERF_SAMPLE_PERIOD the kernel samples every single software
	 * event (perf_swevent_event()). */
	if (event_type_is_software(type) && !event_type_is_clock(type))
		attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
}

static void set_call_graph(struct perf_event_attr *attr, const struct sampling *sampling,
			   bool user_only)
{
	switch (sampling->call_graph) {
	case CALL_GRAPH_NONE:
		break;
	case CALL_GRAPH_FRAME_POINTERS:
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
		attr->exclude_callchain_kernel = user_only;
		break;
	case CALL_GRAPH_STACKS:
		/* The user part of the chain helps where the stack is deeper than the copy. */
		attr->sample_type |=
			PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CALLCHAIN;
		attr->sample_regs_user = ARCH_PERF_MASK;
		attr->sample_stack_user = sampling->stack_bytes;
		attr->exclude_callchain_kernel = user_only;
		break;
	}
}

void sampling_attr(struct perf_event_attr *attr, const struct event_type *type, bool leader,
		   const struct sampling *sampling, const struct sampling_limits *limits)
{
	common(attr, type, sampling);
	attr->disabled = leader;
	attr->enable_on_exec = leader && !sampling->attached && !sampling->delayed;
	attr->sample_type |= PERF_SAMPLE_IP;
	attr->exclude_kernel = limits->user_only || type->exclude_kernel;
	attr->exclude_user = type->exclude_user;
	if (leader && !event_type_is_software(type))
		attr->precise_ip = (unsigned int)limits->precise & 3;
	set_rate(attr, type, sampling);
	set_call_graph(attr, sampling, limits->user_only);
}

void sampling_side_attr(struct perf_event_attr *attr, const struct sampling *sampling,
			bool user_only, bool build_id)
{
	common(attr, event_type_find("task-clock"), sampling);
	attr->disabled = 1;
	attr->enable_on_exec = !sampling->attached;
	attr->exclude_kernel = user_only;
	attr->mmap = attr->mmap2 = 1;
	attr->build_id = build_id;
	attr->wakeup_watermark = SAMPLING_SIDE_WAKEUP_BYTES;
}

void sampling_names_attr(struct perf_event_attr *attr, const struct sampling *sampling,
			 bool user_only)
{
	static const struct event_type never = { .type = PERF_TYPE_SOFTWARE,
						 .config = PERF_COUNT_SW_DUMMY };

	common(attr, &never, sampling);
	attr->disabled = 1;
	attr->enable_on_exec = !sampling->attached;
	attr->exclude_kernel = user_only;
	attr->comm = attr->comm_exec = attr->task = 1;
	attr->wakeup_watermark = 1;
}

void sampling_ring_attr(struct perf_event_attr *attr, const struct perf_event_attr *like)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.watermark = like->watermark,
		.wakeup_watermark = like->wakeup_watermark,
		.use_clockid = like->use_clockid,
		.clockid = like->clockid,
	};
}

bool sampling_period_is_fixed(const struct perf_event_attr *attr)
{
	return !(attr->sample_type & PERF_SAMPLE_PERIOD);
}
