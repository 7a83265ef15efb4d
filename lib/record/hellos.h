/* SPDX-License-Identifier: MIT */
/*
 * hellos - which image it is that a guest in a process said hello for.
 *
 *	id = hellos_match(images, &hello, false);
 *	if (id == PROFILE_NONE)
 *		ask again when more of perf's records have come, with true when no more will;
 *
 * The heap side knows images only by what their guests say.  Where there are perf's records, a
 * hello belongs to the image that the pid ran at that time; without perf each hello starts one, and
 * so does what was executed and never says hello.  May be called by any thread.
 */
#ifndef RECORD_HELLOS_H
#define RECORD_HELLOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/images.h"

struct process_hello {
	int32_t pid, parent_pid;
	bool is_forked;	  /* not executed */
	uint64_t time_ns; /* when its heap began to be accounted */
	const char *executable;
	char *const *arguments;
	size_t nr_arguments;
};

/* The image that said so, now tracked; PROFILE_NONE: cannot be told yet, which is never so
 * at_last. */
uint32_t hellos_match(struct images *images, const struct process_hello *hello, bool at_last);

struct process_exec {
	int32_t pid, by_pid; /* the same: in place of what it ran so far */
	uint64_t time_ns;    /* before it */
	uint64_t by_said_ns; /* when who says so had said hello */
};

/* An image of its own, which may say hello yet; NULL: it has said so, or perf's records tell of it. */
struct process_image *hellos_executed(struct images *images, const struct process_exec *exec);

#endif
