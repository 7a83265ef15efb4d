/* SPDX-License-Identifier: MIT */
/*
 * execs - what images said that they execute, until it is known whether they did.
 *
 *	execs_read(&execs, segment, &ticks);		// what is new
 *	execs_settle(&execs, now_ns, &fate);		// those that are no longer in doubt
 *
 * What is executed may say hello by itself, or never: it may be a static program.
 */
#ifndef RECORD_HEAP_EXECS_H
#define RECORD_HEAP_EXECS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "record/heap/collector.h"
#include "record/heap/segment.h"
#include "record/heap/ticks.h"

struct execs {
	VEC(struct heap_exec) waiting; /* in the order in which they were told */
	uint64_t missed;
};

void execs_release(struct execs *execs);

void execs_read(struct execs *execs, struct segment *segment, const struct ticks *ticks);

struct execs_fate {
	void *context;
	bool (*may_fail)(void *context, const struct heap_exec *exec); /* yet */
	void (*executed)(void *context, const struct heap_exec *exec);
};

/* Of those that were told some time before now, or ever (UINT64_MAX): the others wait on. */
void execs_settle(struct execs *execs, uint64_t now_ns, const struct execs_fate *fate);

/* Whether one of this process waits. */
bool execs_has(const struct execs *execs, int32_t pid);

#endif
