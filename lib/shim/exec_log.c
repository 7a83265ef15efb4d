/* SPDX-License-Identifier: MIT */
#include "shim/exec_log.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/filter.h"
#include "shim/session.h"
#include "shim/sys.h"

/* In the recorder's eyes; 0: not known.  Of another PID namespace only the process itself is. */
static int32_t outer_pid(int32_t pid)
{
	if (pid == session.pid)
		return session.outer_pid;
	return session.pid == session.outer_pid ? pid : 0;
}

/* The word that it is in, which is on one page: who executes may give an address where there is none, and
 * gets an error from the kernel. */
static bool is_readable(const void *address)
{
	return sys_readable((const void *)((uintptr_t)address & ~(sizeof(uint64_t) - 1)));
}

/* Nothing of a path whose end cannot be read. */
static void copy_path(char *to, size_t size, const char *path)
{
	to[0] = 0;
	for (size_t i = 0; path && i < size - 1; i++) {
		if ((!i || !((uintptr_t)(path + i) % 4096)) && !is_readable(path + i)) {
			to[0] = 0;
			return;
		}
		to[i] = path[i];
		to[i + 1] = 0;
		if (!path[i])
			return;
	}
}

const char *exec_log_called(char *const argv[])
{
	return (uintptr_t)argv % sizeof(*argv) == 0 && is_readable(argv) ? argv[0] : NULL;
}

const char *exec_log_path(int fd, const char *path, char *const argv[])
{
	bool is_path = fd == AT_FDCWD || (is_readable(path) && *path == '/');

	return is_path ? path : exec_log_called(argv);
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
	atomic_store_explicit(&exec->number, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	exec->pid = pid;
	exec->clock = clock;
	exec->failed = failed;
	exec->filtered = !filter_suffices(filter_known().calls);
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
