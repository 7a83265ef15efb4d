/* SPDX-License-Identifier: MIT */
/*
 * samples - from a sample to a row of the profile: whose, in which stack, how much of what.
 *
 *	samples = samples_new(&config);
 *	samples_add(samples, &(struct samples_input){ .process = process, .decoded = &decoded, ... });
 *	samples_finish(samples);
 *	samples_free(samples);
 *
 * The kernel's frames come from perf's chain, the program's from registers and stack bytes (or from
 * the chain too, where the kernel walked frame pointers).  A stack that does not reach its
 * root gets a frame that says so there, and a row in the quality ledger; before that it waits for
 * some more stacks of its thread, which may have what it lacks.
 */
#ifndef RECORD_SAMPLES_H
#define RECORD_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "object/module.h"
#include "record/aggregate/aggregate.h"
#include "record/events/sampling.h"
#include "record/processes.h"
#include "record/ring/decode.h"
#include "record/stacks/words.h"
#include "record/width.h"

struct samples_config {
	struct aggregate *aggregate;
	enum call_graph call_graph;
	uint32_t stack_bytes; /* copied with each sample */
	bool begins_wide;     /* see width.h */
	const char *shim;     /* path of our own module, or NULL */
	int64_t start_ns;
	/* A stack leads into code that nobody told of: looks what is mapped now.  False: that is
	 * known, it did so a moment ago.  NULL: perf tells. */
	bool (*remap)(void *context, struct process *process);
	void *context;
};

struct samples_input {
	struct process *process;
	uint32_t thread;
	const struct decoded *decoded;
	const struct stack_rest *rest; /* see rest.h; or NULL */
	uint32_t event;
	uint64_t weight;
};

struct samples;

struct samples *samples_new(const struct samples_config *config);
void samples_free(struct samples *samples);

void samples_add(struct samples *samples, const struct samples_input *input);

/* Adds those that wait for others.  There is no later one. */
void samples_finish(struct samples *samples);

/* How much of the stacks is to be copied, from what those so far were like. */
struct width *samples_width(struct samples *samples);

/* The module that has this id in the profile; NULL: none that was sampled. */
const struct module *samples_module(const struct samples *samples, uint32_t profile_module);

#endif
