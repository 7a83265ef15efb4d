/* SPDX-License-Identifier: MIT */
/*
 * names - looking up the names of a profile: the options of that, and its progress on a terminal.
 *
 *	struct names_options options = { 0 };	// state->child_inputs[] of names_argp
 *
 *	ret = names_look_up("cprof.data", &options, open_module, recorder, &err);
 *	names_release(&options);
 */
#ifndef CMD_NAMES_H
#define CMD_NAMES_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "symbolize/symbolize.h"

struct names_options {
	VEC(const char *) directories;
	bool no_demangle;
	const char *servers; /* to fetch debug files from, or NULL */
	uint64_t budget_ns, budget_bytes;
	/* To be set by the command: no progress; see struct symbolize_options. */
	bool quiet, leave_signals;
};

/* The input is a struct names_options. */
extern const struct argp names_argp;

/* open_module and context: as in struct symbolize_options; both may be NULL. */
int names_look_up(const char *path, struct names_options *options,
		  int (*open_module)(void *context, const struct profile_module *module),
		  void *context, struct error *err);
void names_release(struct names_options *options);

#endif
