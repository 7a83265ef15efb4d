/* SPDX-License-Identifier: MIT */
/*
 * execs - what images said that they execute, until it is known whether they did.
 *
 *	execs_read(&execs, segment, &ticks);		// what is new
 *	while (execs_take(&execs, now_ns, stays, context, &exec))
 *		use(exec.path);
 *		free(exec.path);
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

/* It may fail yet. */
typedef bool execs_stays(void *context, const struct heap_exec *exec);

/* Moves the first one out that was told some time before now, or ever (UINT64_MAX), and does not stay. */
bool execs_take(struct execs *execs, uint64_t now_ns, execs_stays *stays, void *context,
		struct heap_exec *exec);

/* Whether one of this process is not taken yet. */
bool execs_has(const struct execs *execs, int32_t pid);

#endif
