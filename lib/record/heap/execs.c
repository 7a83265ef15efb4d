/* SPDX-License-Identifier: MIT */
#include "record/heap/execs.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* An exec that fails does so sooner. */
#define WAIT_NS UINT64_C(20000000)
/* Of a program that tells whatever comes to its mind. */
#define WAITING_MAX 4096

void execs_release(struct execs *execs)
{
	vec_each(&execs->waiting, exec) free(exec->path);
	vec_free(&execs->waiting);
}

static void remove_at(struct execs *execs, size_t i)
{
	execs->waiting.nr--;
	memmove(&execs->waiting.at[i], &execs->waiting.at[i + 1],
		(execs->waiting.nr - i) * sizeof(execs->waiting.at[0]));
}

/* The last one that this process said. */
static void forget(struct execs *execs, int32_t pid)
{
	for (size_t i = execs->waiting.nr; i--;) {
		if (execs->waiting.at[i].pid != pid)
			continue;
		free(execs->waiting.at[i].path);
		remove_at(execs, i);
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
						      .path = size ? xstrdup(exec->path) : NULL });
}

void execs_read(struct execs *execs, struct segment *segment, const struct ticks *ticks)
{
	struct wire_exec exec;

	execs->missed += segment_skip_execs(segment);
	while (segment_exec(segment, &exec)) {
		if (exec.failed)
			forget(execs, exec.pid);
		else
			add(execs, segment, ticks, &exec);
	}
}

bool execs_take(struct execs *execs, uint64_t now_ns, struct heap_exec *exec)
{
	if (!execs->waiting.nr ||
	    (now_ns != UINT64_MAX && execs->waiting.at[0].time_ns + WAIT_NS > now_ns))
		return false;
	*exec = execs->waiting.at[0];
	remove_at(execs, 0);
	return true;
}

bool execs_has(const struct execs *execs, int32_t pid)
{
	vec_each(&execs->waiting, exec) if (exec->pid == pid) return true;
	return false;
}
