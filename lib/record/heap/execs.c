/* SPDX-License-Identifier: MIT */
#include "record/heap/execs.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Most execs that fail do so sooner: no need to look at the others. */
#define WAIT_NS UINT64_C(20000000)
/* Of a program that tells whatever comes to its mind. */
#define WAITING_MAX 4096

void execs_release(struct execs *execs)
{
	vec_each(&execs->waiting, exec) free(exec->path);
	vec_free(&execs->waiting);
}

/* The last one that this process said. */
static void forget(struct execs *execs, int32_t pid)
{
	for (size_t i = execs->waiting.nr; i--;) {
		if (execs->waiting.at[i].pid != pid)
			continue;
		free(execs->waiting.at[i].path);
		vec_remove(&execs->waiting, i, 1);
		return;
	}
}

static void add(struct execs *execs, const struct segment *segment, const struct ticks *ticks,
		const struct wire_exec *exec)
{
	size_t size = strnlen(exec->path, sizeof(exec->path));

	if (execs->waiting.nr == WAITING_MAX || size == sizeof(exec->path) || exec->pid <= 0) {
		execs->missed++;
		return;
	}
	vec_push(&execs->waiting, (struct heap_exec){ .pid = exec->pid,
						      .by_pid = segment->pid,
						      .time_ns = ticks_ns(ticks, exec->clock),
						      .by_said_ns = segment->shared->start_ns,
						      .path = size ? xstrdup(exec->path) : NULL,
						      .is_filtered = exec->filtered });
}

/* What it said of their failure may be among what was missed. */
static void doubt(struct execs *execs, int32_t by_pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < execs->waiting.nr; i++) {
		struct heap_exec *exec = &execs->waiting.at[i];

		if (exec->by_pid != by_pid) {
			execs->waiting.at[kept++] = *exec;
			continue;
		}
		free(exec->path);
		execs->missed++;
	}
	execs->waiting.nr = kept;
}

/* What is left of a dead program is read to its end: it was killed in the middle of one. */
void execs_read(struct execs *execs, struct segment *segment, const struct ticks *ticks)
{
	struct wire_exec exec;
	uint32_t skipped;

	do {
		while (segment_exec(segment, &exec)) {
			if (exec.failed)
				forget(execs, exec.pid);
			else
				add(execs, segment, ticks, &exec);
		}
		skipped = segment_skip_execs(segment);
		execs->missed += skipped;
		if (skipped)
			doubt(execs, segment->pid);
	} while (skipped);
}

static bool is_young(const struct heap_exec *exec, uint64_t now_ns)
{
	return now_ns != UINT64_MAX && exec->time_ns + WAIT_NS > now_ns;
}

void execs_settle(struct execs *execs, uint64_t now_ns, const struct execs_fate *fate)
{
	size_t kept = 0;

	for (size_t i = 0; i < execs->waiting.nr; i++) {
		struct heap_exec *exec = &execs->waiting.at[i];

		if (is_young(exec, now_ns) || fate->may_fail(fate->context, exec)) {
			execs->waiting.at[kept++] = *exec;
			continue;
		}
		fate->executed(fate->context, exec);
		free(exec->path);
	}
	execs->waiting.nr = kept;
}

bool execs_has(const struct execs *execs, int32_t pid)
{
	vec_each(&execs->waiting, exec) if (exec->pid == pid) return true;
	return false;
}
