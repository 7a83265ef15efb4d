/* SPDX-License-Identifier: MIT */
/*
 * job - one attempt to name all that is in a profile; in one process.
 *
 *	struct job job = { .path = "cprof.data", .options = options, .effort = effort,
 *			   .begin_module = tell, .context = pipe };
 *
 *	ret = job_run(&job, &err);
 */
#ifndef SYMBOLIZE_JOB_H
#define SYMBOLIZE_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "object/debuginfod.h"
#include "symbolize/symbolize.h"

/* How much may be tried with a module; what crashed once gets less the next time. */
enum effort {
	EFFORT_ALL,
	EFFORT_SYMBOLS, /* no DWARF */
	EFFORT_NONE,
};

struct job {
	const char *path;
	const struct symbolize_options *options;

	/* Modules by id that are to get less than EFFORT_ALL, and why. */
	struct job_limit {
		uint32_t module;
		enum effort effort;
		const char *reason;
	} * limits;
	size_t nr_limits;

	/* Called before each module that is looked into. */
	void (*begin_module)(void *context, const struct profile_module *module, size_t done,
			     size_t total);
	void *context;
	struct debuginfod_watch watch; /* over what is fetched */
};

int job_run(const struct job *job, struct error *err);

#endif
