/* SPDX-License-Identifier: MIT */
/*
 * sampling - what is to be sampled how, as perf attributes.
 *
 * Every event that is opened for a recording gets its attributes here, so that a probe and the
 * real thing cannot differ.
 */
#ifndef RECORD_EVENTS_SAMPLING_H
#define RECORD_EVENTS_SAMPLING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/events/event_type.h"

enum call_graph {
	CALL_GRAPH_NONE,
	CALL_GRAPH_FRAME_POINTERS, /* walked by the kernel */
	CALL_GRAPH_STACKS,	   /* registers and a copy of the stack, walked by us */
};

enum {
	/* A record holds 64 KiB less 8, and everything else of a sample has to fit too. */
	SAMPLING_STACK_BYTES_MAX = 63 * 1024,
	SAMPLING_STACK_BYTES = 16 * 1024,
	SAMPLING_WIDE_BYTES = 65528, /* the kernel takes off what does not fit */
	SAMPLING_FREQUENCY_HZ = 997,
	/*
	 * Of clocks, which are sampled by a timer.  The kernel keeps the interrupts of hardware
	 * events to a share of the time, but not these: at 100 kHz a program got 2 % of its CPU.
	 */
	SAMPLING_CLOCK_HZ_MAX = 20000,
	SAMPLING_SIDE_WAKEUP_BYTES = 2048, /* about what a program with 15 libraries maps */
};

/* As often as the kernel allows (kernel.perf_event_max_sample_rate). */
#define SAMPLING_HZ_MOST UINT32_MAX

struct sampling {
	uint32_t frequency_hz; /* used if period is 0 */
	uint64_t period;
	enum call_graph call_graph;
	uint32_t stack_bytes; /* multiple of 8 */
	bool stack_is_fixed;  /* else more is copied where stacks are deeper */
	bool attached;	      /* to what runs already: nothing starts by an exec */
	bool delayed;	      /* the group waits for events_start() */
	bool no_inherit;      /* only the threads of the process */
};

/* What may have to be given up, for the whole group. */
struct sampling_limits {
	bool user_only;
	int precise; /* of the leader */
};

/* Every how many of this event a sample is taken; 0: by frequency. */
uint64_t sampling_period(const struct event_type *type, const struct sampling *sampling);
/* How often this event is sampled, if by frequency. */
uint32_t sampling_rate_hz(const struct event_type *type, const struct sampling *sampling);

/* Attributes of a group's leader or member. */
void sampling_attr(struct perf_event_attr *attr, const struct event_type *type, bool leader,
		   const struct sampling *sampling, const struct sampling_limits *limits);

/*
 * Attributes of the event that tells of mappings.  It counts the task-clock besides: what the
 * group's running time is compared with.
 */
void sampling_side_attr(struct perf_event_attr *attr, const struct sampling *sampling,
			bool user_only, bool build_id);
/*
 * Attributes of the event that tells of forks, names, execs and exits.  Each of its records wakes
 * us, so that a new program is looked at while it is there.  To be woken at every mapping, too,
 * doubles what an exec costs.
 */
void sampling_names_attr(struct perf_event_attr *attr, const struct sampling *sampling,
			 bool user_only);

/*
 * Attributes of an event that never happens, for a ring of its own that others write into.  like:
 * one of those.
 */
void sampling_ring_attr(struct perf_event_attr *attr, const struct perf_event_attr *like);

/* Samples of the event carry no period of their own: each stands for attr->sample_period. */
bool sampling_period_is_fixed(const struct perf_event_attr *attr);

#endif
