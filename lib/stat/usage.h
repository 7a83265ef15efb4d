/* SPDX-License-Identifier: MIT */
/*
 * usage - what a program has used by the kernel's account, beside what perf counts.
 *
 *	struct usage before, usage;
 *
 *	usage_of_program(&usage, &rusage);	// of one that we have waited for
 *
 *	if (usage_read(&before, &attach) && ... && usage_read(&usage, &attach))
 *		usage_subtract(&usage, &before);
 *
 * /proc has of processes that run already what getrusage(2) would tell their parent, children that
 * they have waited for included, but times in ticks and switches of living threads only: these are
 * not taken.
 */
#ifndef STAT_USAGE_H
#define STAT_USAGE_H

#include <stdbool.h>
#include <sys/resource.h>

#include "record/target/attach.h"

struct usage {
	double user_s, system_s;
	double minor_faults, major_faults;
	double switches;      /* NaN: not known */
	double max_rss_bytes; /* the largest of a process, since its start */
	bool is_from_proc;
};

void usage_of_program(struct usage *usage, const struct rusage *rusage);
/* False: one of them has ended, or cannot be read. */
bool usage_read(struct usage *usage, const struct attach *attach);
/* max_rss_bytes stays: nobody knows it of a time. */
void usage_subtract(struct usage *usage, const struct usage *before);

#endif
