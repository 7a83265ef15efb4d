/* SPDX-License-Identifier: MIT */
#include "shim/exec_log.h"

#include <string.h>

#include "shim/session.h"

/* In the recorder's eyes; 0: not known.  Of another PID namespace only the process itself is. */
static int32_t outer_pid(int32_t pid)
{
	if (pid == session.pid)
		return session.outer_pid;
	return session.pid == session.outer_pid ? pid : 0;
}

static void copy_path(char *to, size_t size, const char *path)
{
	size_t nr = path ? strlen(path) : 0;

	if (nr >= size)
		nr = size - 1;
	memcpy(to, path, nr);
	to[nr] = 0;
}

static void put(int32_t pid, const char *path, uint64_t clock, bool failed)
{
	struct wire_segment *segment = session.segment;
	uint32_t number;
	struct wire_exec *exec;

	pid = outer_pid(pid);
	if (pid <= 0)
		return;
	number = atomic_fetch_add(&segment->execs_used, 1);
	exec = &segment->exec[number % WIRE_EXECS];
	atomic_store(&exec->number, 0);
	exec->pid = pid;
	exec->clock = clock;
	exec->failed = failed;
	copy_path(exec->path, sizeof(exec->path), path);
	atomic_store_explicit(&exec->number, number + 1, memory_order_release);
}

void exec_log_add(int32_t pid, const char *path, uint64_t clock)
{
	put(pid, path, clock, false);
}

void exec_log_failed(int32_t pid)
{
	put(pid, NULL, wire_clock(), true);
}
