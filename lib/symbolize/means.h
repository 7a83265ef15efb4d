/* SPDX-License-Identifier: MIT */
/*
 * means - what a job has for all of its modules.
 */
#ifndef SYMBOLIZE_MEANS_H
#define SYMBOLIZE_MEANS_H

#include "object/debuginfod.h"
#include "object/package.h"
#include "symbolize/budget.h"
#include "symbolize/symbolize.h"

struct means {
	const struct symbolize_options *options;
	struct debuginfod *servers; /* NULL: nothing is fetched */
	const char *no_servers;	    /* why not, although it was asked for; or NULL */
	struct packages packages;
	struct budget budget;
};

#endif
